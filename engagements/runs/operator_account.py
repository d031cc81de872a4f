"""How the operator's own speedup becomes the step's: the record's account in words.

The account is Amdahl's (1967): a step gains what its operator saves, and no more. What the
measured ratio says beyond that is shown as unexplained, never folded in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engagements.common.ratios import measured

Data = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class OperatorAlone:
    """One workload's operator, measured without the step around it. None: not measured.

    Shares are of 1: `step_share` of the baseline's step, `bandwidth_share` and
    `arithmetic_share` what the candidate reaches of the machine's measured ceilings.
    `unexplained` is measured over predicted, less 1.
    """

    name: str
    baseline_us: float
    candidate_us: float
    ratio: float
    flops: float | None
    bytes_moved: float | None
    bandwidth_share: float | None
    arithmetic_share: float | None
    step_share: float | None
    predicted: float | None
    measured: float | None
    unexplained: float | None

    @property
    def sentence(self) -> str:
        """The account in one sentence; "" where the operator's calls are not counted."""
        if self.step_share is None or self.predicted is None or self.measured is None:
            return ""
        return (
            f"{self.name}: the operator is {self.step_share:.0%} of the baseline's step and runs "
            f"{measured(self.ratio)} as fast, so the step should run "
            f"{measured(self.predicted)} as fast; it was measured at {measured(self.measured)}"
            f"{', ' if self.beyond else ''}{self.beyond}."
        )

    @property
    def beyond(self) -> str:
        """What the account leaves over; "" where that is nothing, or not known."""
        if self.unexplained is None or abs(self.unexplained) < 0.0005:
            return ""
        more = "more" if self.unexplained > 0 else "less"
        return f"{abs(self.unexplained):.1%} {more} than this account explains"


def alone(record: Data) -> list[OperatorAlone]:
    """The record's operator by workload; empty where it was not measured alone."""
    entries = (record["operator"] or {}).get("workloads") or []
    return [_alone(entry) for entry in entries]


def _alone(entry: Data) -> OperatorAlone:
    shares: Data = (entry.get("ceiling_shares") or {}).get("candidate") or {}
    account: Data = entry.get("account") or {}
    return OperatorAlone(
        name=entry["name"],
        baseline_us=entry["baseline_us"],
        candidate_us=entry["candidate_us"],
        ratio=entry["ratio"],
        flops=entry["flops"],
        bytes_moved=entry["bytes"],
        bandwidth_share=shares.get("bandwidth"),
        arithmetic_share=shares.get("arithmetic"),
        step_share=account.get("share_of_baseline_step"),
        predicted=account.get("predicted_ratio"),
        measured=account.get("measured_ratio"),
        unexplained=account.get("unexplained"),
    )
