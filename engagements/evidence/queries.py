"""The evidence of an engagement as facts, by what it is: profiles, measured kernels, traffic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from engagements.engagement.models import Engagement
from engagements.evidence.models import Evidence
from engagements.evidence.readers import ComputeFacts, TraceFacts, TrafficFacts
from engagements.evidence.services import facts_of

Of = TypeVar("Of", TraceFacts, ComputeFacts, TrafficFacts)


@dataclass(frozen=True)
class Read(Generic[Of]):
    """A file and what was read from it."""

    row: Evidence
    facts: Of


@dataclass(frozen=True)
class Collected:
    """Every file, newest first, and those that could be read by what they are."""

    rows: tuple[Evidence, ...]
    traces: tuple[Read[TraceFacts], ...]
    computes: tuple[Read[ComputeFacts], ...]
    traffic: tuple[Read[TrafficFacts], ...]

    @property
    def is_reading(self) -> bool:
        """Whether some file waits for a worker or is with one."""
        return any(not row.is_concluded for row in self.rows)

    def trace(self, pk: int | None, digest: str | None = None) -> Read[TraceFacts] | None:
        """The profile of this key, else of this digest, else the newest that tells of a GPU."""
        ranked = [
            *(read for read in self.traces if read.row.pk == pk),
            *(read for read in self.traces if read.row.digest == digest),
            *(read for read in self.traces if read.facts.kernels),
            *self.traces,
        ]
        return next(iter(ranked), None)

    def log(self, pk: int | None, digest: str | None = None) -> Read[TrafficFacts] | None:
        """The log of shapes of this key, else of this digest, else the newest."""
        ranked = [
            *(read for read in self.traffic if read.row.pk == pk),
            *(read for read in self.traffic if read.row.digest == digest),
            *self.traffic,
        ]
        return next(iter(ranked), None)


def collected(engagement: Engagement) -> Collected:
    """All evidence of an engagement."""
    rows = tuple(Evidence.objects.filter(engagement=engagement).select_related("added_by"))
    found = [(row, facts_of(row)) for row in rows]
    return Collected(
        rows=rows,
        traces=_of(TraceFacts, found),
        computes=_of(ComputeFacts, found),
        traffic=_of(TrafficFacts, found),
    )


def _of(kind: type[Of], found: Iterable[tuple[Evidence, object]]) -> tuple[Read[Of], ...]:
    return tuple(Read(row, facts) for row, facts in found if isinstance(facts, kind))
