"""Totals of a workload's output checks, for the record."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from benchmarks.harness.rounds.comparisons import Comparison
from benchmarks.harness.rounds.repeated_inputs import Repeats


@dataclass
class CheckTotals:
    """Totals of the candidate's output checks in one workload of one replicate."""

    calls_checked: int = 0
    calls_probed: int = 0
    max_abs_error: float = 0.0
    max_rel_error: float = 0.0
    elements: int = 0
    matched: int = 0
    repeats_checked: int = 0
    repeats_identical: int = 0

    def add(self, comparison: Comparison) -> None:
        """Add one output tensor of one fully checked call."""
        self.max_abs_error = max(self.max_abs_error, comparison.max_abs_error)
        self.max_rel_error = max(self.max_rel_error, comparison.max_rel_error)
        self.elements += comparison.elements
        self.matched += comparison.matched

    def add_repeats(self, repeats: Repeats) -> None:
        """Add calls that had the same input."""
        self.repeats_checked += repeats.calls
        self.repeats_identical += repeats.identical

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data; an infinite error becomes null."""
        return {
            "calls_checked": self.calls_checked,
            "calls_probed": self.calls_probed,
            "max_abs_error": _finite(self.max_abs_error),
            "max_rel_error": _finite(self.max_rel_error),
            "matched_share": self.matched / self.elements if self.elements else None,
            "repeats_checked": self.repeats_checked,
            "repeats_identical": self.repeats_identical,
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
