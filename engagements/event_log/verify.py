"""Verify the event log: every chain, count and anchor.

Findings name the engagement and position, as exactly as the remaining rows allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from django.db import connection

from engagements.engagement.models import Engagement
from engagements.event_log.chain import FINANCE, digest_of_anchor, digest_of_event
from engagements.event_log.models import (
    ChainedEvent,
    Event,
    EventAnchor,
    EventChain,
    FinanceEvent,
)

CHANGED, REMOVED, INSERTED, REORDERED = "changed", "removed", "inserted", "reordered"


@dataclass(frozen=True)
class Break:
    """A place where the log was altered. `where` is a reference, "finance" or "anchors"."""

    where: str
    position: int
    what: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.where}, {self.position}: {self.what}. {self.sentence}"


@dataclass
class Report:
    """Counts and breaks. Keep the digest `last_anchor` outside the database."""

    engagements: int = 0
    events: int = 0
    anchors: int = 0
    last_anchor: str | None = None
    breaks: list[Break] = field(default_factory=list)

    @property
    def is_intact(self) -> bool:
        """Whether there are no breaks."""
        return not self.breaks


def verify(*, kept_anchors: Iterable[str] = ()) -> Report:
    """Verify the whole log; `kept_anchors` are digests kept outside the database."""
    report = Report()
    anchors = list(EventAnchor.objects.order_by("number", "pk"))
    report.anchors = len(anchors)
    report.last_anchor = anchors[-1].digest if anchors else None
    report.breaks += _breaks_of_anchors(anchors, kept_anchors)
    heads = _heads(anchors)
    chains = {chain.engagement_id: chain for chain in EventChain.objects.all()}
    references = dict(Engagement.objects.values_list("pk", "reference"))
    for engagement, rows in _by_engagement():
        reference = references[engagement]
        report.engagements += 1
        report.events += len(rows)
        report.breaks += breaks_of(reference, rows, chains.pop(engagement, None))
        report.breaks += _breaks_against(heads.pop(reference, []), reference, rows)
    finance = list(FinanceEvent.objects.order_by("position", "pk"))
    report.events += len(finance)
    report.breaks += _breaks_of_rows(FINANCE, finance)
    report.breaks += _breaks_against(heads.pop(FINANCE, []), FINANCE, finance)
    for engagement, chain in chains.items():
        report.breaks.append(_tail(references[engagement], 0, chain.length))
    for reference, anchored in heads.items():
        report.breaks += _breaks_against(anchored, reference, [])
    return report


def grown_chains() -> dict[str, list[int | str]]:
    """Return [length, head] by reference, of the chains longer than in any anchor."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH anchored AS (
                SELECT head.key AS reference, max((head.value ->> 0)::int) AS length
                FROM engagements_eventanchor, jsonb_each(heads) AS head GROUP BY head.key
            )
            SELECT engagement.reference, chain.length, chain.head
            FROM engagements_eventchain AS chain
            JOIN engagements_engagement AS engagement ON engagement.id = chain.engagement_id
            LEFT JOIN anchored USING (reference)
            WHERE chain.length > coalesce(anchored.length, 0)
            UNION ALL
            SELECT last.* FROM (
                SELECT %s AS reference, position, digest FROM engagements_financeevent
                ORDER BY position DESC LIMIT 1
            ) AS last
            LEFT JOIN anchored USING (reference)
            WHERE last.position > coalesce(anchored.length, 0)
            """,
            [FINANCE],
        )
        return {reference: [length, head] for reference, length, head in cursor.fetchall()}


def breaks_of(reference: str, rows: Sequence[Event], chain: EventChain | None) -> list[Break]:
    """Verify the events of one engagement, ordered by position."""
    found = _breaks_of_rows(reference, rows)
    if chain is None:
        found.append(Break(reference, 0, REMOVED, "Its event count is missing."))
        return found
    last = rows[-1]
    if last.position < chain.length:
        found.append(_tail(reference, last.position, chain.length))
    elif last.position > chain.length:
        sentence = f"The database counted {chain.length} events; this one was inserted after them."
        found.append(Break(reference, chain.length + 1, INSERTED, sentence))
    elif last.digest != chain.head:
        sentence = "It is not the last event that the database counted."
        found.append(Break(reference, last.position, CHANGED, sentence))
    return found


def _breaks_of_rows(reference: str, rows: Sequence[ChainedEvent]) -> list[Break]:
    return [*_gaps(reference, rows), *_altered(reference, rows), *_links(reference, rows)]


def _by_engagement() -> Iterator[tuple[int, list[Event]]]:
    rows = Event.objects.order_by("engagement_id", "position", "pk").iterator(chunk_size=5000)
    for engagement, events in groupby(rows, key=lambda event: event.engagement_id):
        yield engagement, list(events)


def _gaps(reference: str, rows: Sequence[ChainedEvent]) -> Iterator[Break]:
    positions = [0, *(row.position for row in rows)]
    for before, after in pairwise(positions):
        if after > before + 1:
            sentence = f"Events {before + 1} to {after - 1} are missing."
            if after == before + 2:
                sentence = f"Event {before + 1} is missing."
            yield Break(reference, before + 1, REMOVED, sentence)
        elif after == before:
            yield Break(reference, after, INSERTED, "Two events have this position.")


def _altered(reference: str, rows: Sequence[ChainedEvent]) -> Iterator[Break]:
    """Find events that differ from their digest; a block that moved together counts once."""
    moved_by = 0
    for row in rows:
        if digest_of_event(row, reference=reference) == row.digest:
            moved_by = 0
            continue
        origin = _written_at(reference, row, len(rows))
        if origin is None:
            moved_by = 0
            sentence = f"“{row.verb}” does not match its digest."
            yield Break(reference, row.position, CHANGED, sentence)
        elif origin - row.position != moved_by:
            moved_by = origin - row.position
            sentence = f"“{row.verb}” was written as event {origin}."
            yield Break(reference, row.position, REORDERED, sentence)


def _written_at(reference: str, row: ChainedEvent, length: int) -> int | None:
    """Return the position for which the digest of `row` is correct, if any."""
    near = sorted(range(1, length + 2), key=lambda position: abs(position - row.position))
    for position in near:
        if digest_of_event(row, reference=reference, position=position) == row.digest:
            return position
    return None


def _links(reference: str, rows: Sequence[ChainedEvent]) -> Iterator[Break]:
    """Find intact events whose predecessor is not the event they were chained to."""
    for index, (before, after) in enumerate(pairwise(rows)):
        if after.previous == before.digest or after.position != before.position + 1:
            continue
        if _is_moved(reference, before) or _is_moved(reference, after):
            # `_altered` reports moved events; report the event inserted before the first.
            if (
                index
                and after.previous == rows[index - 1].digest
                and not _is_moved(reference, before)
            ):
                sentence = (
                    f"“{before.verb}” was inserted: event {after.position} follows a different one."
                )
                yield Break(reference, before.position, INSERTED, sentence)
            continue
        sentence = f"“{before.verb}” was replaced: event {after.position} follows a different one."
        yield Break(reference, before.position, CHANGED, sentence)


def _is_moved(reference: str, row: ChainedEvent) -> bool:
    return digest_of_event(row, reference=reference) != row.digest


def _tail(reference: str, length: int, counted: int) -> Break:
    sentence = f"The database counted {counted} events; {length} remain."
    return Break(reference, length + 1, REMOVED, sentence)


def _heads(anchors: Sequence[EventAnchor]) -> dict[str, list[tuple[EventAnchor, int, str]]]:
    """Return (anchor, length, head) by reference, oldest first."""
    anchored: dict[str, list[tuple[EventAnchor, int, str]]] = {}
    for anchor in anchors:
        for reference, (length, head) in anchor.heads.items():
            anchored.setdefault(reference, []).append((anchor, length, head))
    return anchored


def _breaks_against(
    anchored: Sequence[tuple[EventAnchor, int, str]], reference: str, rows: Sequence[ChainedEvent]
) -> Iterator[Break]:
    """Find the first anchor that the events contradict."""
    digests = {row.position: row.digest for row in rows}
    agreed = 0
    for anchor, length, head in anchored:
        if digests.get(length) == head:
            agreed = length
            continue
        what = CHANGED if length in digests else REMOVED
        sentence = (
            f"Anchor {anchor.number} of {anchor.taken_at:%Y-%m-%d %H:%M} has {length} events "
            f"ending in {head}; an event from {agreed + 1} to {length} was altered."
        )
        yield Break(reference, agreed + 1, what, sentence)
        return


def _breaks_of_anchors(anchors: Sequence[EventAnchor], kept: Iterable[str]) -> Iterator[Break]:
    number, digest = 0, ""
    for anchor in anchors:
        if anchor.number != number + 1:
            sentence = f"Anchor {number + 1} is missing."
            yield Break("anchors", number + 1, REMOVED, sentence)
        elif anchor.previous != digest:
            yield Break("anchors", number, CHANGED, "The next anchor follows a different one.")
        if digest_of_anchor(anchor) != anchor.digest:
            sentence = "It does not match its digest."
            yield Break("anchors", anchor.number, CHANGED, sentence)
        number, digest = anchor.number, anchor.digest
    known = {anchor.digest for anchor in anchors}
    for wanted in kept:
        if wanted not in known:
            sentence = f"The kept anchor {wanted} is missing."
            yield Break("anchors", number + 1, REMOVED, sentence)
