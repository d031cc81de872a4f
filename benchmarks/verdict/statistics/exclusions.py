"""Exclude outlier rounds: interrupted ones, and those on an unsteady GPU.

Rounds are excluded in pairs, by sealed rules that treat both sides alike, so that neither side
gains from losing its slow rounds.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.verdict.statistics import interruptions, throttling
from benchmarks.verdict.statistics.estimates import Floats, Samples, adjacent_pairs
from benchmarks.verdict.statistics.interruptions import Flags, interrupted

SIDES = ("baseline", "candidate")


@dataclass(frozen=True, kw_only=True)
class CountedRounds:
    """The rounds that count, and how many pairs were excluded for which reason."""

    samples: Samples
    rounds: int
    interrupted: int
    unsteady: int
    with_interrupted: Samples
    """The samples including interrupted pairs."""
    slow_alone: Mapping[str, int]
    """By side, interrupted pairs in which this side alone was slow."""


def counted_rounds(record: Mapping[str, Any], replicates: int | None = None) -> CountedRounds:
    """Count the rounds of the first `replicates` replicates; of all by default."""
    chosen = record["replicates"][:replicates]
    usual_mhz, rule = _usual_clocks(chosen), interruptions.sealed(record)
    samples: dict[str, list[tuple[Floats, Floats]]] = {}
    whole: dict[str, list[tuple[Floats, Floats]]] = {}
    slow_alone = dict.fromkeys(SIDES, 0)
    rounds = left_out = unsteady = 0
    for replicate in chosen:
        for workload in replicate["workloads"]:
            baseline, candidate = times_us(workload["rounds"])
            off = _unsteady(workload, usual_mhz, record["benchmark"]["protocol"]["clock_band"])
            slow = interrupted(baseline, candidate, rule)
            for side, alone in zip(SIDES, (slow[0] & ~slow[1], slow[1] & ~slow[0]), strict=True):
                slow_alone[side] += int((alone & ~off).sum())
            inside = ~(slow[0] | slow[1])
            kept = inside & ~off
            # With at most one round left, count all: the noise then shows in the interval.
            kept = kept if kept.sum() > 1 else np.ones_like(kept)
            rounds += len(kept)
            unsteady += int(off.sum())
            left_out += int((~inside & ~off).sum())
            samples.setdefault(workload["name"], []).append((baseline[kept], candidate[kept]))
            all_of = kept | ~off
            whole.setdefault(workload["name"], []).append((baseline[all_of], candidate[all_of]))
    return CountedRounds(
        samples=samples,
        rounds=rounds,
        interrupted=left_out,
        unsteady=unsteady,
        with_interrupted=whole,
        slow_alone=slow_alone,
    )


def counting(record: Mapping[str, Any], found: CountedRounds) -> Samples:
    """The samples as the sealed estimator takes them."""
    return adjacent_pairs(found.samples) if is_paired(record) else found.samples


def is_paired(record: Mapping[str, Any]) -> bool:
    """Whether the benchmark seals the median ratio of adjacent rounds as its estimator."""
    found: bool = record["benchmark"]["protocol"].get("estimator") == "adjacent_pairs"
    return found


def times_us(rounds: list[Mapping[str, Any]]) -> tuple[Floats, Floats]:
    """Baseline and candidate times of the rounds, in us per call."""
    return (
        np.array([entry["baseline_us"] for entry in rounds], dtype=float),
        np.array([entry["candidate_us"] for entry in rounds], dtype=float),
    )


def _usual_clocks(replicates: list[Mapping[str, Any]]) -> dict[tuple[str, str], float]:
    """The median SM clock of each workload and side over all rounds, in MHz."""
    seen: dict[tuple[str, str], list[float]] = defaultdict(list)
    for replicate in replicates:
        for workload in replicate["workloads"]:
            for side in SIDES:
                if workload["telemetry"] is not None:
                    seen[workload["name"], side] += workload["telemetry"][side]["sm_mhz"]
    return {key: float(np.median(values)) for key, values in seen.items()}


def _unsteady(
    workload: Mapping[str, Any], usual_mhz: Mapping[tuple[str, str], float], band: float
) -> Flags:
    """Flag pairs in which the hardware throttled the GPU, or a side's SM clock left its band.

    A software power cap does not count: a kernel's power draw is its own doing.
    """
    off = np.zeros(len(workload["rounds"]), dtype=bool)
    if workload["telemetry"] is None:
        return off
    for side in SIDES:
        columns = workload["telemetry"][side]
        reasons = np.array(columns["throttle"], dtype=np.int64)
        clocks = np.array(columns["sm_mhz"], dtype=float)
        off |= (reasons & throttling.DISCARDED) != 0
        off |= clocks < (1 - band) * usual_mhz[workload["name"], side]
    return off
