"""Simulate the errors of interim looks: random runs, judged like real ones.

    python -m benchmarks.precision.simulations.interim_looks

Replicates differ by `between` and rounds by `within`, on both sides alike and independently. For
each true ratio it counts how often a run is `met` or `missed`, with the spending rule and with
every look at the sealed confidence, and how often an interval contains the truth. At target 2 and
95% confidence, a candidate exactly at its target may be met, or missed, in 2.5% of runs each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.verdict.statistics import interim
from benchmarks.verdict.statistics.estimates import Floats, estimate
from kernels.output import exit_when_stdout_closes

SEED = 20261121
PROTOCOL = {"replicates": 4, "max_replicates": 8, "look_every": 2}
ROUNDS = 12
TARGET, CONFIDENCE = 2.0, 0.95
NOISES = ((0.01, 0.001), (0.005, 0.01), (0.001, 0.01))
RATIOS = (1.95, 1.98, 2.0, 2.02, 2.05)


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Shares of runs; `holds` counts last intervals that contain the truth."""

    between: float
    within: float
    ratio: float
    met: float
    missed: float
    holds: float
    met_unadjusted: float
    missed_unadjusted: float


def simulated(runs: int, *, between: float, within: float, ratio: float, seed: int) -> Rates:
    """Rates over `runs` runs; the same seed gives the same rates."""
    random = np.random.RandomState(seed)
    counts = dict.fromkeys(("met", "missed", "holds", "met_unadjusted", "missed_unadjusted"), 0)
    for _ in range(runs):
        replicates = list(_drawn(random, between, within, ratio))
        low, high = _stopped(replicates, adjusted=True)
        counts["met"] += low >= TARGET
        counts["missed"] += high < TARGET
        counts["holds"] += low <= ratio <= high
        low, high = _stopped(replicates, adjusted=False)
        counts["met_unadjusted"] += low >= TARGET
        counts["missed_unadjusted"] += high < TARGET
    shares = {name: count / runs for name, count in counts.items()}
    return Rates(between=between, within=within, ratio=ratio, **shares)


def _drawn(
    random: np.random.RandomState, between: float, within: float, ratio: float
) -> Iterator[tuple[Floats, Floats]]:
    for _ in range(PROTOCOL["max_replicates"]):
        paces = np.exp(between * random.randn(2))
        noise = 1 + within * random.randn(2, ROUNDS)
        yield 100.0 * ratio * paces[0] * noise[0], 100.0 * paces[1] * noise[1]


def _stopped(replicates: list[tuple[Floats, Floats]], *, adjusted: bool) -> tuple[float, float]:
    """The interval at which the run stops."""
    low, high = 0.0, float("inf")
    for count in interim.schedule(PROTOCOL):
        level = interim.confidence_at(PROTOCOL, count, CONFIDENCE) if adjusted else CONFIDENCE
        found = estimate({"a": replicates[:count]}, {"a": 1.0}, confidence=level).overall
        low, high = found.low, found.high
        if low >= TARGET or high < TARGET:
            break
    return low, high


def main(runs: int = 2500) -> None:
    """Print the table."""
    schedule = interim.schedule(PROTOCOL)
    levels = [f"{interim.confidence_at(PROTOCOL, each, CONFIDENCE):.2%}" for each in schedule]
    print(f"looks after {schedule} replicates at {', '.join(levels)}; {runs} runs a row\n")
    print("| between | within | true | met | missed | holds | met, no rule | missed, no rule |")
    print("|---|---|---|---|---|---|---|---|")
    for index, (between, within) in enumerate(NOISES):
        for ratio in RATIOS:
            found = simulated(runs, between=between, within=within, ratio=ratio, seed=SEED + index)
            print(
                f"| {between:.1%} | {within:.1%} | {ratio:.2f} | {found.met:.1%} | "
                f"{found.missed:.1%} | {found.holds:.1%} | {found.met_unadjusted:.1%} | "
                f"{found.missed_unadjusted:.1%} |"
            )


if __name__ == "__main__":
    with exit_when_stdout_closes():
        main()
