"""Predict the step's speedup from the operator's, and explain the difference.

By Amdahl (1967) a step saves exactly the time that its operator saves. A measured ratio beyond
that is shown as unexplained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engagements.common.ratios import measured

Data = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class OperatorAlone:
    """A workload's operator, measured without the rest of the step. None: not measured.

    Shares are fractions of 1: `step_share` of the baseline's step, `bandwidth_share` and
    `arithmetic_share` of the device's measured limits, reached by the candidate. `unexplained` is
    measured over predicted, less 1.
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
        """The prediction in one sentence; "" without a count of the operator's calls."""
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
        """The unexplained difference as text; "" when zero or unknown."""
        if self.unexplained is None or abs(self.unexplained) < 0.0005:
            return ""
        more = "more" if self.unexplained > 0 else "less"
        return f"{abs(self.unexplained):.1%} {more} than predicted"


def excess(rows: Sequence[OperatorAlone]) -> str:
    """Say why steps may run faster than predicted; "" where none does."""
    if not any(row.unexplained is not None and row.unexplained >= 0.0005 for row in rows):
        return ""
    return (
        "More than predicted is possible, since operator and step are measured apart; the control "
        "“Gain explained by the operator” says how much is accepted."
    )


def alone(record: Data) -> list[OperatorAlone]:
    """Return the record's operator by workload; empty when it was not measured alone."""
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
