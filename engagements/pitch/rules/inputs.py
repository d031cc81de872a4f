"""Inputs of the six checks from a pitch and the facts of its files."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, TypeVar

from engagements.audit.rules.figures import Interval
from engagements.audit.rules.finding import Source, Sourced
from engagements.audit.rules.inputs import AuditInputs, Work
from engagements.evidence.readers import ComputeFacts, TraceFacts, TrafficFacts
from engagements.evidence.readers.questions import GpuBill, Maintainer, Maintainers
from engagements.pitch.rules.reduction import Read
from engagements.pitch.rules.stated import Pitch

T = TypeVar("T")

STATED = Source(kind="stated", name="The pitch")


def inputs_of(pitch: Pitch, read: Sequence[Read] = (), *, today: dt.date) -> AuditInputs:
    """Combine the pitch with facts of files, which take precedence."""
    return AuditInputs(
        today=today,
        operator=pitch.operator,
        trace=_first(read, TraceFacts),
        compute=tuple(_all(read, ComputeFacts)),
        traffic=_first(read, TrafficFacts) or _stated(pitch.traffic),
        needs=_stated(pitch.needs),
        tried=tuple(Sourced(value=tried, source=STATED) for tried in pitch.tried),
        work=_stated(_work(pitch)),
        maintainers=_stated(_maintainers(pitch)),
        gpu_bill=_stated(_bill(pitch)),
        share=_stated(pitch.share),
        roofline_share=_stated(pitch.roofline_share),
        kernel_speedup=_stated(_exactly(pitch.kernel_speedup)),
        end_to_end=_stated(_exactly(pitch.end_to_end)),
        life_weeks=_stated(pitch.life_weeks),
    )


def _stated(value: T | None) -> Sourced[T] | None:
    return None if value is None else Sourced(value=value, source=STATED)


def _all(read: Sequence[Read], kind: type[T]) -> list[Sourced[T]]:
    return [
        Sourced(value=each.facts, source=Source(kind="file", name=each.name, digest=each.digest))
        for each in read
        if isinstance(each.facts, kind)
    ]


def _first(read: Sequence[Read], kind: type[Any]) -> Sourced[Any] | None:
    return next(iter(_all(read, kind)), None)


def _exactly(ratio: float | None) -> Interval | None:
    return None if ratio is None else Interval(low=ratio, high=ratio)


def _work(pitch: Pitch) -> Work | None:
    if pitch.weeks is None:
        return None
    return Work(weeks=pitch.weeks, fee=pitch.fee, currency=pitch.currency if pitch.fee else None)


def _maintainers(pitch: Pitch) -> Maintainers | None:
    if pitch.upkeep_hours is None:
        return None
    if pitch.upkeep_hours == 0:
        return Maintainers(people=())
    name = pitch.maintainer or "Named maintainer"
    return Maintainers(people=(Maintainer(name=name, hours_a_month=pitch.upkeep_hours),))


def _bill(pitch: Pitch) -> GpuBill | None:
    if pitch.bill_a_month is None or pitch.currency is None:
        return None
    return GpuBill(amount_a_month=pitch.bill_a_month, currency=pitch.currency)
