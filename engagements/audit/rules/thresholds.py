"""Thresholds of the checks, from published sources, adjustable per engagement."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import msgspec


@dataclass(frozen=True, kw_only=True, slots=True)
class Thresholds:
    """Thresholds of all checks, recorded with the audit so that findings are reproducible.

    hot: `least_share` of wall-clock time; `strict_share` is the top tenth of run time.
    off_the_shelf: a library that a custom kernel beats by less than `notable_ratio` end to end
    covers the case despite missing features.
    stable: the `counted_shapes` most frequent shapes cover `covered_share` of calls and of time,
    there are at most `effective_shapes`, the log's ends differ by at most `drift_distance`, and
    it has `least_calls`.
    survives: after the work the kernel lasts `life_over_work` times as long as the work took;
    plans count up to `horizon_weeks`.
    maintain: hours per new GPU architecture, and hours a month for numerical debugging and
    remeasuring; `architectures_a_year` is the default without stated plans.
    worth: `target` end to end; a kernel at `tuned_share` of the roofline cannot gain more, and one
    at `bound_share` counts as bound; `headroom` is the kernel speedup that the three-condition
    test requires.
    """

    least_share: float = 0.05
    strict_share: float = 0.10
    notable_ratio: float = 1.2
    counted_shapes: int = 16
    covered_share: float = 0.80
    effective_shapes: float = 32.0
    drift_distance: float = 0.25
    least_calls: int = 1000
    life_over_work: float = 4.0
    horizon_weeks: float = 104.0
    architecture_hours: float = 40.0
    architectures_a_year: float = 1.0
    numerics_hours: float = 2.0
    benchmark_hours: float = 3.0
    target: float = 2.0
    tuned_share: float = 0.80
    bound_share: float = 0.60
    headroom: float = 1.5

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            highest = 1.0 if field.name in SHARES else float("inf")
            if not 0 < value <= highest or value == float("inf"):
                up_to = " and up to 100%" if field.name in SHARES else ""
                raise ValueError(f"{label_of(field.name)}: enter a value above 0{up_to}.")
        if self.target <= 1 or self.notable_ratio < 1:
            raise ValueError("Enter a target above 1× and a notable ratio of at least 1×.")


SHARES = (
    "least_share",
    "strict_share",
    "covered_share",
    "drift_distance",
    "tuned_share",
    "bound_share",
)

# Help texts of the form.
MEANINGS = {
    "least_share": "Check 1: required share of the wall-clock time.",
    "strict_share": "Check 1, stricter test: share of the wall-clock time.",
    "notable_ratio": "Check 2: end-to-end ratio that a kernel must reach over a library.",
    "counted_shapes": "Check 3: number of most frequent shapes to count.",
    "covered_share": "Check 3: required share of calls and of time in those shapes.",
    "effective_shapes": "Check 3: maximum effective number of shapes.",
    "drift_distance": "Check 3: maximum share of calls that move to other shapes.",
    "least_calls": "Check 3: minimum number of calls in a log.",
    "life_over_work": "Check 4: weeks of use per week of work.",
    "horizon_weeks": "Check 4: planning horizon in weeks.",
    "architecture_hours": "Check 5: hours per new GPU architecture.",
    "architectures_a_year": "Check 5: default without stated plans.",
    "numerics_hours": "Check 5: hours per month for numerical debugging.",
    "benchmark_hours": "Check 5: hours per month for remeasuring.",
    "target": "Check 6: required end-to-end ratio.",
    "tuned_share": "Check 6: share of the roofline beyond which no gain is expected.",
    "bound_share": "Check 6: share of a peak from which a kernel counts as bound.",
    "headroom": "Second opinion: required kernel speedup.",
}

DEFAULT = Thresholds()


def label_of(name: str) -> str:
    """Return the label of a threshold."""
    return name.replace("_", " ").capitalize()


def shown(name: str, value: float) -> str:
    """Format a threshold; shares are percentages, as everywhere on the pages."""
    return f"{round(value * 100, 4):g}%" if name in SHARES else f"{value:g}"


def as_data(thresholds: Thresholds) -> dict[str, Any]:
    """Serialise the thresholds that differ from their defaults."""
    usual = asdict(DEFAULT)
    return {name: value for name, value in asdict(thresholds).items() if value != usual[name]}


def from_data(data: dict[str, Any]) -> Thresholds:
    """Restore thresholds from stored or typed data; missing ones keep their defaults.

    ValueError for an unknown name or an invalid value.
    """
    known = {field.name for field in fields(Thresholds)}
    if unknown := set(data) - known:
        raise ValueError(f"Unknown threshold: {', '.join(sorted(unknown))}.")
    return msgspec.convert(data, Thresholds, strict=False)
