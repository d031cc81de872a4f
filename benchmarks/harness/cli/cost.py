"""Show the cost of a verdict: seconds of a record's run by purpose."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.harness.rounds import phases

_GROUPS = {
    "rounds that count": ("measuring",),
    "sizing and warm-up": ("sizing", "warming_up"),
    "A/A pair, operator alone": ("same_code", "operator_alone"),
    "starting processes, preparation, setup": ("preparing", "starting", "setup"),
    "new inputs, checks, correctness trials": ("filling", "checking", "trials"),
    "other": (phases.REST,),
}
"""Phases by purpose; every phase is in one group."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One group of phases, its seconds and its share of the run."""

    name: str
    spent_s: float
    share: float


def parts(record: Mapping[str, Any]) -> list[Part]:
    """The groups' seconds; ValueError for a record without phases."""
    if "phases_s" not in record:
        raise ValueError("this record has no phases_s")
    spent: Mapping[str, float] = record["phases_s"]
    unknown = sorted(set(spent) - {name for names in _GROUPS.values() for name in names})
    if unknown:
        raise ValueError(f"unknown phases: {', '.join(unknown)}")
    total_s = sum(spent.values())
    return [
        Part(name=group, spent_s=seconds, share=seconds / total_s if total_s else 0.0)
        for group, names in _GROUPS.items()
        for seconds in [sum(spent.get(name, 0.0) for name in names)]
    ]


def table(record: Mapping[str, Any]) -> str:
    """The groups as a Markdown table, with the verdict and its replicates."""
    summary = record["summary"]
    lines = ["| phase | s | share |", "|---|---|---|"]
    lines += [f"| {part.name} | {part.spent_s:.1f} | {_percent(part)} |" for part in parts(record)]
    count = summary["replicates"]
    measured = f"{count} {'replicate' if count == 1 else 'replicates'}, {summary['rounds']} rounds"
    lines += ["", f"{summary['verdict']} in {record['elapsed_s']:.1f} s: {measured}"]
    return "\n".join(lines)


def _percent(part: Part) -> str:
    """Whole percents, and one decimal below 1%."""
    return f"{part.share:.1%}" if 0 < part.share < 0.01 else f"{part.share:.0%}"
