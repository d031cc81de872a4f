"""What the verdict consists of, as plain data: advice, tool, rung, and what to do instead."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Literal

from engagements.audit.rules.figures import Interval
from engagements.audit.rules.finding import Finding, Missing
from engagements.audit.rules.labels import Advice, Outcome
from engagements.audit.rules.thresholds import Thresholds


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """One of the three conditions of the second opinion: headroom, hot, stable."""

    name: Literal["headroom", "hot", "stable"]
    outcome: Outcome
    sentence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SecondOpinion:
    """The three-condition test: all three hold, or no kernel. `note` is set where it disagrees."""

    outcome: Outcome
    conditions: tuple[Condition, ...]
    note: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """What to write the kernel in, and why."""

    name: Literal["Triton", "CUTLASS", "CUDA C++"]
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Rung:
    """Where the present kernel stands on the optimisation ladder, from its profile.

    `number` counts from 1 (naive) to 6 (tuned), None beside the ladder: too small to fill the
    device. `next_step` is None on the last.
    """

    number: int | None
    name: str
    seen: str
    next_step: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Alternative:
    """Something cheaper than a kernel. `gain` is the ratio of the whole that the evidence gives.

    Without a gain it cannot be estimated from what there is, and `to_collect` says what would
    tell. `basis` says what the estimate rests on, or why there is none.
    """

    name: str
    title: str
    gain: Interval | None
    basis: str
    to_collect: Missing | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What the six findings amount to, with everything that goes with it.

    `thresholds` are all the lines that were drawn, and `examined_on` the day from which plans
    were counted, so that a verdict can be redone.
    """

    findings: tuple[Finding, ...]
    advice: Advice
    passes: int
    sentence: str
    second_opinion: SecondOpinion
    tool: Tool | None
    rung: Rung | None
    instead: tuple[Alternative, ...]
    thresholds: Thresholds
    examined_on: dt.date
