"""What an audit is about, as it is set and stored: the operator, its needs, the work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from engagements.audit.case import Needs, Operator, Tried, Work
from engagements.audit.figures import Interval


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What a person set. Everything is optional.

    `trace` and `traffic` are digests of the evidence to go by, the newest where none is chosen.
    `kernel_speedup` is an estimate of what the kernel gains, `end_to_end` a ratio that somebody
    measured elsewhere.
    """

    operator: Operator | None = None
    trace: str | None = None
    traffic: str | None = None
    needs: Needs | None = None
    work: Work | None = None
    tried: tuple[Tried, ...] = ()
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
