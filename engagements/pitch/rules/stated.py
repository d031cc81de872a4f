"""The stated numbers of a pitch."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from engagements.audit.rules.inputs import Needs, Operator, Tried
from engagements.evidence.readers.facts import TrafficFacts


@dataclass(frozen=True, kw_only=True)
class Pitch:
    """A pitch in numbers; None means not stated.

    `share` of wall-clock time and `roofline_share` are fractions of 1; `kernel_speedup` and
    `end_to_end` are ratios to the present kernel. `fee` (net) and `bill_a_month` (GPU time) are in
    `currency`. `upkeep_hours` are hours a month of `maintainer`; 0 without one. `operator` is
    one of the profile's operators.
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
