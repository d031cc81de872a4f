"""What an audit is about, as it is set and stored: the operator, its needs, the work."""

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
    """What a person set. Everything is optional.

    `trace` and `traffic` are digests of the evidence to go by, the newest where none is chosen.
    `summed` is the operator's own sum where it is a pattern, once a worker has read the profile
    again. `kernel_speedup` is an estimate of what the kernel gains, `end_to_end` a ratio that
    somebody measured elsewhere.
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
    """The subject as plain JSON data; only what is set."""
    data: dict[str, Any] = msgspec.to_builtins(subject)
    return {key: value for key, value in data.items() if value not in (None, [], ())}


def from_data(data: dict[str, Any]) -> Subject:
    """The subject of stored or typed data. ValueError when it is none."""
    return msgspec.convert(data, Subject, strict=False)
