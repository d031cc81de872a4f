"""The stored subject of an audit: the operator, its needs, the work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from engagements.audit.rules.figures import Interval
from engagements.audit.rules.inputs import Needs, Operator, Tried, Work
from engagements.evidence.readers.facts import GroupTime


@dataclass(frozen=True, kw_only=True)
class Summed:
    """Kernels of a name pattern, summed exactly in the profile of this digest."""

    trace: str
    group: GroupTime


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Inputs set by a consultant. Everything is optional.

    `trace` and `traffic` are digests of the chosen evidence; the newest is used without a choice.
    `summed` is the exact sum of a pattern, once a worker has reread the profile. `kernel_speedup`
    is an estimate; `end_to_end` is a ratio measured elsewhere.
    """

    operator: Operator | None = None
    trace: str | None = None
    traffic: str | None = None
    needs: Needs | None = None
    work: Work | None = None
    tried: tuple[Tried, ...] = ()
    summed: Summed | None = None
    share: float | None = None
    kernel_speedup: Interval | None = None
    end_to_end: Interval | None = None


def as_data(subject: Subject) -> dict[str, Any]:
    """Serialise the subject as JSON data, without unset fields."""
    data: dict[str, Any] = msgspec.to_builtins(subject)
    return {key: value for key, value in data.items() if value not in (None, [], ())}


def from_data(data: dict[str, Any]) -> Subject:
    """Restore a subject from stored or typed data. ValueError when invalid."""
    return msgspec.convert(data, Subject, strict=False)
