"""Parts of the verdict as data: second opinion, tool, rung and alternatives."""

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
    """The three-condition test. `note` is set when it disagrees with the six checks."""

    outcome: Outcome
    conditions: tuple[Condition, ...]
    note: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """The recommended language or library for the kernel, with the reason."""

    name: Literal["Triton", "CUTLASS", "CUDA C++"]
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Rung:
    """The present kernel's rung on the optimisation ladder, from its profile.

    `number` counts from 1 (naive) to 6 (tuned); None for a kernel too small to fill the device.
    `next_step` is None on the last rung.
    """

    number: int | None
    name: str
    seen: str
    next_step: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Alternative:
    """A cheaper alternative to a kernel. `gain` is the estimated end-to-end ratio.

    Without a gain, `to_collect` is the evidence that would allow an estimate. `basis` explains
    the estimate or its absence.
    """

    name: str
    title: str
    gain: Interval | None
    basis: str
    to_collect: Missing | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The verdict of six findings, with its advice.

    `use_first` names a library that fits, whatever the count says; empty without one.
    `thresholds` and the day `examined_on`, from which plans are counted, make it reproducible.
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
    use_first: str = ""
