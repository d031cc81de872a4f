"""Where each check draws its line: the sources' own figures, adjustable for one engagement."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import msgspec


@dataclass(frozen=True, kw_only=True, slots=True)
class Thresholds:
    """Every line that a check draws. Recorded with the audit, so that a finding can be redone.

    hot: `least_share` of wall-clock time; `strict_share` is the top tenth of run time.
    off_the_shelf: a library that a custom kernel beats by less than `notable_ratio` end to end
    covers the case, even where it lacks something.
    stable: the `counted_shapes` most frequent shapes cover `covered_share` of calls and of time,
    there are at most `effective_shapes`, the log's ends differ by at most `drift_distance`, and
    it has `least_calls`.
    survives: after the work the kernel lives `life_over_work` times as long as the work took;
    no plan is believed beyond `horizon_weeks`.
    maintain: hours for one new GPU architecture, and hours a month for numerical debugging and
    for measuring again; `architectures_a_year` counts where nobody said what is planned.
    worth: `target` end to end; at `tuned_share` of the roofline nothing is left, at
    `bound_share` a kernel counts as bound by something; `headroom` is what the three-condition
    test asks of the kernel.
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
            highest = 1.0 if field.name in _SHARES else float("inf")
            if not 0 < value <= highest or value == float("inf"):
                of_one = ": it is a share of 1" if field.name in _SHARES else ""
                raise ValueError(f"{label_of(field.name)} cannot be {value:g}{of_one}.")
        if self.target <= 1 or self.notable_ratio < 1:
            raise ValueError("A target is more than 1×, a notable ratio at least that.")


_SHARES = (
    "least_share",
    "strict_share",
    "covered_share",
    "drift_distance",
    "tuned_share",
    "bound_share",
)

# What each of them says, for whoever moves it.
MEANINGS = {
    "least_share": "Check 1: of the wall-clock time, 0.05 is 5%.",
    "strict_share": "Check 1, the stricter test: of the wall-clock time.",
    "notable_ratio": "Check 2: times that a kernel has to beat a library end to end.",
    "counted_shapes": "Check 3: as many of the most frequent shapes are counted.",
    "covered_share": "Check 3: of calls and of time, in those shapes.",
    "effective_shapes": "Check 3: at most as many shapes in effect.",
    "drift_distance": "Check 3: at most as much of the calls moves to other shapes.",
    "least_calls": "Check 3: fewer calls in a log decide nothing.",
    "life_over_work": "Check 4: weeks of use for a week of work.",
    "horizon_weeks": "Check 4: no plan is believed for longer.",
    "architecture_hours": "Check 5: for one new GPU architecture.",
    "architectures_a_year": "Check 5: where nobody said which are planned.",
    "numerics_hours": "Check 5: a month, for numerical debugging.",
    "benchmark_hours": "Check 5: a month, for measuring again.",
    "target": "Check 6: times as fast end to end.",
    "tuned_share": "Check 6: of the roofline, where nothing is left to win.",
    "bound_share": "Check 6: of a peak, from where a kernel is bound by it.",
    "headroom": "Second opinion: times that the kernel itself can gain.",
}

DEFAULT = Thresholds()


def label_of(name: str) -> str:
    """What a threshold is called."""
    return name.replace("_", " ").capitalize()


def as_data(thresholds: Thresholds) -> dict[str, Any]:
    """The thresholds that differ from the sources' own, as plain data."""
    usual = asdict(DEFAULT)
    return {name: value for name, value in asdict(thresholds).items() if value != usual[name]}


def from_data(data: dict[str, Any]) -> Thresholds:
    """The thresholds of stored or typed data, the usual ones where it is silent.

    ValueError for a name that is none, or a value that cannot be.
    """
    known = {field.name for field in fields(Thresholds)}
    if unknown := set(data) - known:
        raise ValueError(f"{', '.join(sorted(unknown))}: no such threshold.")
    return msgspec.convert(data, Thresholds, strict=False)
