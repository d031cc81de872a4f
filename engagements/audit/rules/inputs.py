"""The case that six checks look at: what is known of one operator in one workload.

Everything is optional: what is missing makes a check `unknown`, never an error.
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
        """The group of a trace that a form or a link names; None where it names none."""
        named, _, name = key.partition(":")
        kind = next((known for known in FOUND_KINDS if known == named), None)
        return cls(kind=kind, name=name) if kind and name else None

    @property
    def key(self) -> str:
        """A group of a trace as a form or a link names it, as in family:attention."""
        return f"{self.kind}:{self.name}"


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What the operator must do, for which a kernel off the shelf may be found.

    `definition` is the catalogue's operator, or a name of one's own where it has none. `axes`
    are its sizes as they occur most. `features` are those of the coverage data, or others.
    `device` is the GPU's name, where no trace tells.
    """

    definition: str
    dtype: str | None = None
    architecture: str | None = None
    features: tuple[str, ...] = ()
    axes: Mapping[str, int] = field(default_factory=dict)
    device: str | None = None


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A library that somebody held against the needs, beside what the catalogue knows.

    `lacks` is what it does not do, empty when it fits. `ratio` is how many times faster end to
    end the custom kernel was measured against it.
    """

    library: str
    lacks: tuple[str, ...] = ()
    ratio: Interval | None = None


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What a custom kernel was measured to be end to end, times as fast as a baseline.

    `baseline` has the words that name it: its name, its package, its title.
    """

    baseline: str
    ratio: Interval


@dataclass(frozen=True, kw_only=True)
class Work:
    """What the kernel would take: weeks of work and a net fee in `currency`."""

    weeks: float
    fee: Decimal | None = None
    currency: str | None = None

    @property
    def whole_weeks(self) -> int:
        """The weeks that a time-box for it has."""
        return math.ceil(self.weeks)


@dataclass(frozen=True, kw_only=True)
class AuditInputs:
    """Everything that the checks look at.

    `share` is the operator's share of wall-clock time where no trace tells; `kernel_speedup` a
    claim or an estimate of what the kernel gains; `end_to_end` a measured or claimed ratio of the
    whole; `life_weeks` how long the model stays, where no roadmap tells; `roofline_share` how
    near the present kernel is to the roofline, where no Nsight Compute export tells.
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


# Words that stand before many libraries' names and tell them apart from none.
_COMMON = ("torch", "pytorch", "nvidia", "nvidia's", "the")


def names(words: str, library: str) -> bool:
    """Whether `words` (a baseline's name, package and title) name the library."""
    telling = [word for word in library.split() if word.lower() not in _COMMON] or library.split()
    return bool(telling) and _plain(telling[0]) in _plain(words)


def _plain(text: str) -> str:
    return text.lower().replace("-", "").replace("_", "")
