"""Facts of an engagement's evidence: profiles, measured kernels, traffic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from engagements.engagement.models import Engagement
from engagements.evidence.models import Evidence
from engagements.evidence.readers import ComputeFacts, TraceFacts, TrafficFacts
from engagements.evidence.services import facts_of, live

Of = TypeVar("Of", TraceFacts, ComputeFacts, TrafficFacts)


@dataclass(frozen=True)
class Read(Generic[Of]):
    """A file with its facts."""

    row: Evidence
    facts: Of


@dataclass(frozen=True)
class Collected:
    """All files, newest first, and the readable ones by kind.

    Profiles of candidates are among the traces, to be looked at, and are never chosen by default.
    """

    rows: tuple[Evidence, ...]
    traces: tuple[Read[TraceFacts], ...]
    computes: tuple[Read[ComputeFacts], ...]
    traffic: tuple[Read[TrafficFacts], ...]

    @property
    def is_reading(self) -> bool:
        """Whether a file is queued or being read."""
        return any(not row.is_concluded for row in self.rows)

    def trace(self, pk: int | None, digest: str | None = None) -> Read[TraceFacts] | None:
        """Return the profile with this key, else this digest, else the newest with GPU activity."""
        workload = [read for read in self.traces if read.row.candidate_id is None]
        ranked = [
            *(read for read in self.traces if read.row.pk == pk),
            *(read for read in workload if read.row.digest == digest),
            *(read for read in workload if read.facts.kernels),
            *workload,
        ]
        return next(iter(ranked), None)

    def log(self, pk: int | None, digest: str | None = None) -> Read[TrafficFacts] | None:
        """Return the shape log with this key, else this digest, else the newest."""
        ranked = [
            *(read for read in self.traffic if read.row.pk == pk),
            *(read for read in self.traffic if read.row.digest == digest),
            *self.traffic,
        ]
        return next(iter(ranked), None)


def collected(engagement: Engagement) -> Collected:
    """Return all evidence of an engagement."""
    rows = tuple(live(engagement).select_related("added_by", "candidate"))
    found = [(row, facts_of(row)) for row in rows]
    workload = [(row, facts) for row, facts in found if row.candidate_id is None]
    return Collected(
        rows=rows,
        traces=_of(TraceFacts, found),
        computes=_of(ComputeFacts, workload),
        traffic=_of(TrafficFacts, workload),
    )


def _of(kind: type[Of], found: Iterable[tuple[Evidence, object]]) -> tuple[Read[Of], ...]:
    return tuple(Read(row, facts) for row, facts in found if isinstance(facts, kind))
