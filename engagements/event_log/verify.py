"""Whether the event log is whole: every chain, every count, every anchor, read again.

What is found is told by engagement and position, as exactly as the rows that are left allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from django.db import connection

from engagements.engagement.models import Engagement
from engagements.event_log.chain import digest_of_anchor, digest_of_event
from engagements.event_log.models import Event, EventAnchor, EventChain

CHANGED, REMOVED, INSERTED, REORDERED = "changed", "removed", "inserted", "reordered"


@dataclass(frozen=True)
class Break:
    """One place where the log is not what was written. `where` is a reference, or "anchors"."""

    where: str
    position: int
    what: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.where}, {self.position}: {self.what}. {self.sentence}"


@dataclass
class Report:
    """What was read, and where it is broken. `last_anchor` is a digest to keep elsewhere."""

    engagements: int = 0
    events: int = 0
    anchors: int = 0
    last_anchor: str | None = None
    breaks: list[Break] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether nothing was found."""
        return not self.breaks


def verify(*, kept_anchors: Iterable[str] = ()) -> Report:
    """Read the whole log again. `kept_anchors` are digests that somebody kept elsewhere."""
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
    for engagement, chain in chains.items():
        report.breaks.append(_tail(references[engagement], 0, chain.length))
    for reference, seen in heads.items():
        report.breaks += _breaks_against(seen, reference, [])
    return report


def grown_chains() -> dict[str, list[int | str]]:
    """[length, head] by reference, of the chains that are longer than any anchor has seen."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH seen AS (
                SELECT head.key AS reference, max((head.value ->> 0)::int) AS length
                FROM engagements_eventanchor, jsonb_each(heads) AS head GROUP BY head.key
            )
            SELECT engagement.reference, chain.length, chain.head
            FROM engagements_eventchain AS chain
            JOIN engagements_engagement AS engagement ON engagement.id = chain.engagement_id
            LEFT JOIN seen USING (reference)
            WHERE chain.length > coalesce(seen.length, 0)
            """
        )
        return {reference: [length, head] for reference, length, head in cursor.fetchall()}


def breaks_of(reference: str, rows: Sequence[Event], chain: EventChain | None) -> list[Break]:
    """What is wrong with one engagement's events, in the order of their positions."""
    found = [*_gaps(reference, rows), *_unsealed(reference, rows), *_links(reference, rows)]
    if chain is None:
        found.append(Break(reference, 0, REMOVED, "The count of its events is gone."))
        return found
    last = rows[-1]
    if last.position < chain.length:
        found.append(_tail(reference, last.position, chain.length))
    elif last.position > chain.length:
        sentence = f"The database counted {chain.length} events; this one was put in past them."
        found.append(Break(reference, chain.length + 1, INSERTED, sentence))
    elif last.digest != chain.head:
        sentence = "It is not the event that the database last counted."
        found.append(Break(reference, last.position, CHANGED, sentence))
    return found


def _by_engagement() -> Iterator[tuple[int, list[Event]]]:
    rows = Event.objects.order_by("engagement_id", "position", "pk").iterator(chunk_size=5000)
    for engagement, events in groupby(rows, key=lambda event: event.engagement_id):
        yield engagement, list(events)


def _gaps(reference: str, rows: Sequence[Event]) -> Iterator[Break]:
    positions = [0, *(row.position for row in rows)]
    for before, after in pairwise(positions):
        if after > before + 1:
            sentence = f"Events {before + 1} to {after - 1} are missing."
            if after == before + 2:
                sentence = f"Event {before + 1} is missing."
            yield Break(reference, before + 1, REMOVED, sentence)
        elif after == before:
            yield Break(reference, after, INSERTED, "Two events stand in this place.")


def _unsealed(reference: str, rows: Sequence[Event]) -> Iterator[Break]:
    """Events that are not what their digest says; moved ones together, when moved together."""
    moved_by = 0
    for row in rows:
        if digest_of_event(row, reference=reference) == row.digest:
            moved_by = 0
            continue
        origin = _written_at(reference, row, len(rows))
        if origin is None:
            moved_by = 0
            sentence = f"“{row.verb}” is not what was written: its digest is that of other words."
            yield Break(reference, row.position, CHANGED, sentence)
        elif origin - row.position != moved_by:
            moved_by = origin - row.position
            sentence = f"“{row.verb}” was written as event {origin}."
            yield Break(reference, row.position, REORDERED, sentence)


def _written_at(reference: str, row: Event, length: int) -> int | None:
    """The position with which the digest of `row` is right, if there is one."""
    near = sorted(range(1, length + 2), key=lambda position: abs(position - row.position))
    for position in near:
        if digest_of_event(row, reference=reference, position=position) == row.digest:
            return position
    return None


def _links(reference: str, rows: Sequence[Event]) -> Iterator[Break]:
    """Events that follow another one than stands before them, though each is whole by itself."""
    for index, (before, after) in enumerate(pairwise(rows)):
        if after.previous == before.digest or after.position != before.position + 1:
            continue
        if _is_moved(reference, before) or _is_moved(reference, after):
            # Moved events are told as such; what they were moved for stands before the first.
            if (
                index
                and after.previous == rows[index - 1].digest
                and not _is_moved(reference, before)
            ):
                sentence = f"“{before.verb}” was put in: event {after.position} follows another."
                yield Break(reference, before.position, INSERTED, sentence)
            continue
        sentence = f"“{before.verb}” was replaced: event {after.position} follows another."
        yield Break(reference, before.position, CHANGED, sentence)


def _is_moved(reference: str, row: Event) -> bool:
    return digest_of_event(row, reference=reference) != row.digest


def _tail(reference: str, left: int, counted: int) -> Break:
    sentence = f"The database counted {counted} events; {left} are left."
    return Break(reference, left + 1, REMOVED, sentence)


def _heads(anchors: Sequence[EventAnchor]) -> dict[str, list[tuple[EventAnchor, int, str]]]:
    """What the anchors saw of each engagement, oldest first."""
    seen: dict[str, list[tuple[EventAnchor, int, str]]] = {}
    for anchor in anchors:
        for reference, (length, head) in anchor.heads.items():
            seen.setdefault(reference, []).append((anchor, length, head))
    return seen


def _breaks_against(
    seen: Sequence[tuple[EventAnchor, int, str]], reference: str, rows: Sequence[Event]
) -> Iterator[Break]:
    """The first thing that an anchor saw and that is not there any more."""
    digests = {row.position: row.digest for row in rows}
    agreed = 0
    for anchor, length, head in seen:
        if digests.get(length) == head:
            agreed = length
            continue
        what = CHANGED if length in digests else REMOVED
        sentence = (
            f"Anchor {anchor.number} of {anchor.taken_at:%Y-%m-%d %H:%M} saw {length} events "
            f"ending in {head}; something from event {agreed + 1} to {length} is not as it was."
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
            yield Break("anchors", number, CHANGED, "The next anchor follows another one.")
        if digest_of_anchor(anchor) != anchor.digest:
            sentence = "It is not what its digest says."
            yield Break("anchors", anchor.number, CHANGED, sentence)
        number, digest = anchor.number, anchor.digest
    known = {anchor.digest for anchor in anchors}
    for wanted in kept:
        if wanted not in known:
            sentence = f"The anchor {wanted} that was kept elsewhere is not there."
            yield Break("anchors", number + 1, REMOVED, sentence)
