"""What each finding shows beside its value: the numbers that its chart and its table draw.

Plain data, one type a check: tagged with the check's name, so that stored ones are read back as
what they were. Shares are fractions of 1, ratios are times over, `None` is 'not
known'.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from msgspec import Struct

from engagements.audit.rules.words import Outcome
from engagements.evidence.readers.facts import Curve


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """From `low` to `high`, both included."""

    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A part of the wall-clock time. kind: operator, other (on the GPU), or waiting (idle)."""

    name: str
    kind: Literal["operator", "other", "waiting"]
    share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Stricter:
    """The stricter test of heat: the top tenth of run time, or a tail-latency target missed."""

    outcome: Outcome
    sentence: str


class HotFigures(Struct, frozen=True, kw_only=True, tag="hot", tag_field="check"):
    """Where the wall-clock time goes. `parts`, largest first, do not add up where they overlap.

    `waiting_for` is what the GPU waits for most, in words, None where it does not wait.
    """

    operator: str
    share_of_wall: Interval
    share_of_gpu: float | None
    gpu_idle_share: float | None
    launch_bound_share: float | None
    waiting_for: str | None
    parts: tuple[Part, ...]
    stricter: Stricter


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A library held against the needs. `ratio` is the custom kernel's over it, where measured."""

    name: str
    version: str
    verdict: Literal["fits", "nearly", "no"]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    documented: str = ""
    ratio: Interval | None = None


class CoverageFigures(Struct, frozen=True, kw_only=True, tag="off_the_shelf", tag_field="check"):
    """What there is off the shelf, the closest first; `needs` in words."""

    needs: tuple[str, ...]
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """One condition that stability rests on; `holds` is None where it could not be tested."""

    name: str
    value: float | None
    threshold: float
    holds: bool | None


class ShapeFigures(Struct, frozen=True, kw_only=True, tag="stable", tag_field="check"):
    """How the traffic spreads over shapes. The two curves are to be drawn."""

    conditions: tuple[Condition, ...]
    shapes_for_calls: dict[str, int]
    shapes_for_time: dict[str, int] | None
    effective_shapes: float
    distinct_shapes: int
    tail_share_of_time: float | None
    drift_distance: float | None
    drift_new_share: float | None
    curve_of_calls: Curve
    curve_of_time: Curve | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelChange:
    """A model to come: which changed axes the kernel takes as they are, and which it does not.

    `free` axes may have any size, `tuned` ones are among the Definition's but the kernel is made
    for their size, `foreign` ones the Definition does not have: that is another operator.
    """

    name: str
    expected_on: dt.date
    weeks_away: float
    free: tuple[str, ...]
    tuned: tuple[str, ...]
    foreign: tuple[str, ...]

    @property
    def ends_the_kernel(self) -> bool:
        """Whether the kernel does not outlive this change as it is."""
        return bool(self.tuned or self.foreign)


class LifeFigures(Struct, frozen=True, kw_only=True, tag="survives", tag_field="check"):
    """Weeks of life against weeks of work, and when the fee has come back.

    `remaining_weeks` is life less work. `saved_a_month` is of the GPU bill, `payback_weeks`
    counts from delivery: its low end belongs to the high end of the speedup. Payback is None
    where the bill, the fee or the speedup is not known; an end of it is None where the fee
    never comes back.
    """

    life_weeks: float
    is_open_ended: bool
    work_weeks: float
    remaining_weeks: float
    changes: tuple[ModelChange, ...]
    fee: Decimal | None
    currency: str | None
    bill_a_month: Decimal | None
    end_to_end: Interval | None
    saved_a_month: tuple[Decimal, Decimal] | None
    payback_weeks: tuple[float | None, float | None] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Upkeep:
    """One kind of upkeep, in hours a month, and where the figure comes from."""

    name: str
    hours_a_month: float
    reason: str


class UpkeepFigures(Struct, frozen=True, kw_only=True, tag="maintain", tag_field="check"):
    """Hours a month that the kernel wants against those that people have."""

    tasks: tuple[Upkeep, ...]
    needed: float
    people: tuple[tuple[str, float], ...]
    offered: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelHeadroom:
    """One measured kernel of the operator: how near it is to the roofline, and on which rung.

    `is_soft` where only the instructions it issues keep the device busy, on a low rung: others
    may do the same work with fewer, so that its roofline is no limit.
    """

    name: str
    share_of_operator: float
    roofline_share: float
    bound: str | None
    signature: str | None
    is_soft: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class FewerBytes:
    """What the Definition's least bytes and operations would make of one call.

    `floor_us` is the time they take at the device's peaks, `call_us` the time a call takes now.
    `moved_bytes` is what it moves now, None where that was not measured.
    """

    moved_bytes: float | None
    least_bytes: float
    call_us: float
    floor_us: float
    kernel_speedup: float


class CeilingFigures(Struct, frozen=True, kw_only=True, tag="worth", tag_field="check"):
    """The ceiling 1 / ((1 - share) + share / kernel speedup) and what lies under it.

    `infinite` is 1 / (1 - share), None where the share is 1. `most` is the most the kernel can
    gain and `ceiling` what that makes of the whole; `reachable` are the kernel speedups that
    reaching 60% and 80% of the roofline would bring. `needed` is the kernel speedup that the
    target takes, None where even an infinite one does not reach it. `curve` has (kernel
    speedup, ratio of the whole) to draw.
    """

    share: float
    target: float
    infinite: float | None
    needed: float | None
    most: float | None
    ceiling: float | None
    reachable: Interval | None
    claimed: Interval | None
    end_to_end: Interval | None
    roofline_share: float | None
    kernels: tuple[KernelHeadroom, ...]
    fewer_bytes: FewerBytes | None
    curve: tuple[tuple[float, float], ...]


Figures: TypeAlias = (
    HotFigures | CoverageFigures | ShapeFigures | LifeFigures | UpkeepFigures | CeilingFigures
)
