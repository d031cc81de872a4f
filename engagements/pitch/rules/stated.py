"""What a pitch says, as somebody typed it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from engagements.audit.rules.inputs import Needs, Operator, Tried
from engagements.evidence.readers.facts import TrafficFacts


class PitchError(ValueError):
    """A part of a pitch cannot be read. The text is one sentence."""


@dataclass(frozen=True, kw_only=True)
class Pitch:
    """A pitch in numbers; None is what it does not say.

    `share` of wall-clock time and `roofline_share` are fractions of 1; `kernel_speedup` and
    `end_to_end` are times over what runs today. `fee` is net and `bill_a_month` what the GPU time
    costs, both in `currency`. `upkeep_hours` are those a month that `maintainer` has; zero is
    nobody. `operator` is chosen of those that a profile shows.
    """

    share: float | None = None
    kernel_speedup: float | None = None
    end_to_end: float | None = None
    roofline_share: float | None = None
    weeks: float | None = None
    fee: Decimal | None = None
    bill_a_month: Decimal | None = None
    currency: str | None = None
    life_weeks: float | None = None
    upkeep_hours: float | None = None
    maintainer: str = ""
    needs: Needs | None = None
    tried: tuple[Tried, ...] = ()
    traffic: TrafficFacts | None = None
    operator: Operator | None = None
