"""Inputs of the checks: the known facts about one operator in one workload.

Everything is optional: a missing input makes a check `unknown` and never raises.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import get_args

from engagements.audit.rules.figures import Interval
from engagements.audit.rules.finding import Sourced
from engagements.audit.rules.thresholds import Thresholds
from engagements.evidence.readers.facts import (
    ComputeFacts,
    FoundKind,
    GroupKind,
    TraceFacts,
    TrafficFacts,
)
from engagements.evidence.readers.questions import (
    Generations,
    GpuBill,
    Maintainers,
    Roadmap,
    TailLatency,
)

FOUND_KINDS: tuple[FoundKind, ...] = get_args(FoundKind)


@dataclass(frozen=True, kw_only=True)
class Operator:
    """The kernels under audit: a family, range, module of the trace, or a name pattern.

    `pattern` is the regular expression of a chosen pattern; the others are found by `name`.
    """

    kind: GroupKind
    name: str
    pattern: str | None = None

    @classmethod
    def from_key(cls, key: str) -> Operator | None:
        """Parse an operator from its key in a form or link; None for an invalid key."""
        named, _, name = key.partition(":")
        kind = next((known for known in FOUND_KINDS if known == named), None)
        return cls(kind=kind, name=name) if kind and name else None

    @property
    def key(self) -> str:
        """The key in forms and links, such as family:attention."""
        return f"{self.kind}:{self.name}"


@dataclass(frozen=True, kw_only=True)
class Needs:
    """Requirements of the operator, compared with off-the-shelf kernels.

    `definition` is an operator of the catalogue or another name. `axes` are its most frequent
    sizes. `features` are those of the coverage data or others. `device` is the GPU's name, used
    without a trace.
    """

    definition: str
    dtype: str | None = None
    architecture: str | None = None
    features: tuple[str, ...] = ()
    axes: Mapping[str, int] = field(default_factory=dict)
    device: str | None = None


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A library compared with the needs by hand.

    `lacks` are missing features, empty when it fits. `ratio` is the measured end-to-end speedup of
    the custom kernel over it.
    """

    library: str
    lacks: tuple[str, ...] = ()
    ratio: Interval | None = None


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A measured end-to-end ratio of a custom kernel over a baseline.

    `baseline` is its name, package and title.
    """

    baseline: str
    ratio: Interval


@dataclass(frozen=True, kw_only=True)
class Work:
    """Estimated work: weeks, and a net fee in `currency`."""

    weeks: float
    fee: Decimal | None = None
    currency: str | None = None

    @property
    def whole_weeks(self) -> int:
        """Weeks rounded up, for a time-box."""
        return math.ceil(self.weeks)


@dataclass(frozen=True, kw_only=True)
class AuditInputs:
    """All inputs of the checks.

    `share`, without a trace, is the operator's stated share of wall-clock time. `kernel_speedup`
    is claimed or estimated; `end_to_end` is a measured or claimed ratio. `life_weeks`, without a
    roadmap, is the stated lifetime of the model. `roofline_share`, without an Nsight Compute
    export, is the stated share of the roofline of the present kernel.
    """

    today: dt.date
    thresholds: Thresholds = field(default_factory=Thresholds)
    operator: Operator | None = None
    trace: Sourced[TraceFacts] | None = None
    compute: tuple[Sourced[ComputeFacts], ...] = ()
    traffic: Sourced[TrafficFacts] | None = None
    needs: Sourced[Needs] | None = None
    tried: tuple[Sourced[Tried], ...] = ()
    measured: tuple[Sourced[Measured], ...] = ()
    work: Sourced[Work] | None = None
    roadmap: Sourced[Roadmap] | None = None
    maintainers: Sourced[Maintainers] | None = None
    generations: Sourced[Generations] | None = None
    tail_latency: Sourced[TailLatency] | None = None
    gpu_bill: Sourced[GpuBill] | None = None
    share: Sourced[float] | None = None
    roofline_share: Sourced[float] | None = None
    kernel_speedup: Sourced[Interval] | None = None
    end_to_end: Sourced[Interval] | None = None
    life_weeks: Sourced[float] | None = None


# Prefixes of many library names, which identify none.
_COMMON = ("torch", "pytorch", "nvidia", "nvidia's", "the")


def names(words: str, library: str) -> bool:
    """Return whether `words` (a baseline's name, package and title) identify the library."""
    telling = [word for word in library.split() if word.lower() not in _COMMON] or library.split()
    return bool(telling) and _plain(telling[0]) in _plain(words)


def _plain(text: str) -> str:
    return text.lower().replace("-", "").replace("_", "")
