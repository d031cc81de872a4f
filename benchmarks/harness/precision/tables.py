"""From trials to the tables of the README; nothing here measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.harness import verdicts
from benchmarks.harness.verdicts import Look


@dataclass(frozen=True, kw_only=True)
class Row:
    """One condition over its trials; ratios are least, median and greatest."""

    condition: str
    true_ratio: float
    trials: int
    ratios: tuple[float, float, float]
    half_width_median: float
    half_width_most: float
    holds_truth: int
    met: int
    missed: int
    do_bench: tuple[float, float] | None

    @property
    def inconclusive(self) -> int:
        """Neither met nor missed."""
        return self.trials - self.met - self.missed


def rows(parts: Sequence[Mapping[str, Any]]) -> list[Row]:
    """A row for each condition, over the trials of all parts."""
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
    """What a contract's verdict would be from this trial alone."""
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
        ratios=(min(ratios), float(np.median(ratios)), max(ratios)),
        half_width_median=float(np.median(widths)),
        half_width_most=max(widths),
        holds_truth=sum(look.low <= truth <= look.high for look in looks),
        met=said.count("met"),
        missed=said.count("missed"),
        do_bench=(min(beside), max(beside)) if beside else None,
    )


def markdown(found: Sequence[Row]) -> str:
    """Both tables as the README has them."""
    lines = [
        "| a call | trials | ratio | half-width, median | most | holds 1 | `do_bench` |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in (row for row in found if row.true_ratio == 1):
        beside = "" if row.do_bench is None else _span(*row.do_bench)
        lines.append(
            f"| {row.condition} | {row.trials} | {_span(row.ratios[0], row.ratios[2])} | "
            f"{row.half_width_median:.2%} | {row.half_width_most:.2%} | "
            f"{row.holds_truth} | {beside} |"
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
            f"{row.ratios[1]:.4f} | {row.half_width_median:.2%} | {row.holds_truth} | "
            f"{row.met} | {row.missed} | {row.inconclusive} |"
        )
    return "\n".join(lines)


def _span(least: float, most: float) -> str:
    return f"{least:.4f} to {most:.4f}"
