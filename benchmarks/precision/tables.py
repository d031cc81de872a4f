"""Compute the README's tables from trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.verdict import verdicts
from benchmarks.verdict.verdicts import Look

CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class Count:
    """A number of independent trials out of a total."""

    count: int
    trials: int

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper and Pearson's exact 95% interval of the rate."""
        # Only here: it takes a second to import.
        from scipy.stats import binomtest

        found = binomtest(self.count, self.trials).proportion_ci(CONFIDENCE, method="exact")
        return float(found.low), float(found.high)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.count} ({low:.0%} to {high:.0%})"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A condition over its trials; ratios are minimum, median and maximum.

    `level` is the confidence of each trial. `above` and `below` count trials whose whole interval
    lies on that side of the truth: false verdicts for a target at the truth.
    """

    condition: str
    true_ratio: float
    trials: int
    level: float
    ratios: tuple[float, float, float]
    half_width_median: float
    half_width_most: float
    above: int
    below: int
    met: int
    missed: int
    do_bench: tuple[float, float] | None

    @property
    def inconclusive(self) -> int:
        """Trials neither met nor missed."""
        return self.trials - self.met - self.missed

    @property
    def holds_truth(self) -> int:
        """Trials whose interval contains the truth."""
        return self.trials - self.above - self.below

    def of(self, count: int) -> Count:
        """A count out of this row's trials."""
        return Count(count=count, trials=self.trials)


def rows(parts: Sequence[Mapping[str, Any]]) -> list[Row]:
    """One row per condition, over the trials of all parts."""
    names = dict.fromkeys(trial["condition"] for part in parts for trial in part["trials"])
    return [
        _row(
            [
                (part, trial)
                for part in parts
                for trial in part["trials"]
                if name == trial["condition"]
            ]
        )
        for name in names
    ]


def judged(part: Mapping[str, Any], trial: Mapping[str, Any]) -> Look:
    """A contract's verdict from this trial alone."""
    benchmark = {**part["benchmark"], "workloads": [part["workload"]]}
    record = {"benchmark": benchmark, "replicates": trial["replicates"]}
    return verdicts.look(record, len(trial["replicates"]))


def _row(trials: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> Row:
    looks = [judged(part, trial) for part, trial in trials]
    first = trials[0][1]
    truth = first["true_ratio"]
    ratios = [look.estimates.overall.ratio for look in looks]
    widths = [(look.high / look.low) ** 0.5 - 1 for look in looks]
    beside = [trial["do_bench"] for _, trial in trials if trial["do_bench"] is not None]
    said = [look.verdict for look in looks]
    return Row(
        condition=first["condition"],
        true_ratio=truth,
        trials=len(looks),
        level=looks[0].confidence,
        ratios=(min(ratios), float(np.median(ratios)), max(ratios)),
        half_width_median=float(np.median(widths)),
        half_width_most=max(widths),
        # As in a verdict, a lower bound at the target is met.
        above=sum(look.low > truth for look in looks),
        below=sum(look.high < truth for look in looks),
        met=said.count("met"),
        missed=said.count("missed"),
        do_bench=(min(beside), max(beside)) if beside else None,
    )


def markdown(found: Sequence[Row]) -> str:
    """Both tables in Markdown, with exact intervals of the rates."""
    lines = [
        "| a call | trials | ratio | half-width, median | most | holds 1 | above 1 | below 1 | "
        "`do_bench` |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in (row for row in found if row.true_ratio == 1):
        beside = "" if row.do_bench is None else _span(*row.do_bench)
        lines.append(
            f"| {row.condition} | {row.trials} | {_span(row.ratios[0], row.ratios[2])} | "
            f"{row.half_width_median:.2%} | {row.half_width_most:.2%} | "
            f"{row.of(row.holds_truth)} | {row.of(row.above)} | {row.of(row.below)} | {beside} |"
        )
    lines += [
        "",
        "| truly | trials | ratio | median | half-width, median | holds it | met | missed | "
        "inconclusive |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in (row for row in found if row.true_ratio != 1):
        lines.append(
            f"| {row.condition} | {row.trials} | {_span(row.ratios[0], row.ratios[2])} | "
            f"{row.ratios[1]:.4f} | {row.half_width_median:.2%} | {row.of(row.holds_truth)} | "
            f"{row.of(row.met)} | {row.of(row.missed)} | {row.inconclusive} |"
        )
    return "\n".join([*lines, "", *_told(found)])


def _told(found: Sequence[Row]) -> list[str]:
    """A summary of the tables in sentences."""
    pooled = {
        "intervals that hold the truth": sum(row.holds_truth for row in found),
        "a target at the truth falsely met": sum(row.above for row in found),
        "a target at the truth falsely missed": sum(row.below for row in found),
    }
    trials = sum(row.trials for row in found)
    lines = [
        f"Over all conditions, {name}: {Count(count=count, trials=trials)} of {trials}"
        for name, count in pooled.items()
    ]
    lines += [f"Each trial's interval is taken at {row.level:.1%}." for row in found[:1]]
    lines.append(
        f"In brackets: Clopper and Pearson's exact {CONFIDENCE:.0%} interval of the rate. "
        "Sought: 95% hold the truth, at most 2.5% falsely met and 2.5% falsely missed. "
        "Conditions share a trial's processes, trials share none."
    )
    return lines


def _span(least: float, most: float) -> str:
    return f"{least:.4f} to {most:.4f}"
