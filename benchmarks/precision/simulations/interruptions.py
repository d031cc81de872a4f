"""Simulate the exclusion of interrupted rounds: random runs, judged like real ones.

    python -m benchmarks.precision.simulations.interruptions

The candidate is truly twice as fast; pairs, rounds and band are those of the presets for an H200
and for any GPU. Rounds scatter normally, and interruptions lengthen them by some milliseconds
(exponential, a tenth of the shorter round on average), the longer round twice as often. Reported
without the sealed band and with it: coverage of the interval, its width, the mean bias of the
ratio, and the share of excluded rounds.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from benchmarks.verdict.statistics.estimates import Floats, estimate
from benchmarks.verdict.statistics.interruptions import Exclusion, uninterrupted
from kernels import protocols
from kernels.output import exit_when_stdout_closes

SEED = 20261122
# Replicates, rounds and band: an H200's, then any GPU's.
COURSES = tuple(
    (each.replicates, each.rounds, each.interrupted_band)
    for each in (protocols.H200, protocols.CUDA)
)
_CONFIDENCE, _RATIO, _BETWEEN = 0.95, 2.0, 0.002
_ROUND_US = np.array([[200.0], [100.0]])
_INTERRUPTION_US = 10.0


@dataclass(frozen=True, kw_only=True)
class Found:
    """Shares over runs of one kind; `half_width` is the median."""

    holds: float
    half_width: float
    bias: float
    left_out: float

    def __str__(self) -> str:
        return f"{self.holds:.1%} | {self.half_width:.2%} | {self.bias:+.2%} | {self.left_out:.1%}"


def judged(
    band: float | None,
    *,
    replicates: int,
    rounds: int,
    within: float,
    chance: float,
    runs: int,
    seed: int = SEED,
) -> Found:
    """Simulate runs; `chance` is that of interrupting the shorter round."""
    random = np.random.RandomState(seed)
    ratios, widths, held, left_out = [], [], 0, 0
    for _ in range(runs):
        samples = []
        for _ in range(replicates):
            baseline, candidate = _drawn(random, rounds, within, chance)
            kept = uninterrupted(baseline, candidate, Exclusion(band=band))
            left_out += int((~kept).sum())
            samples.append((baseline[kept], candidate[kept]))
        found = estimate({"w": samples}, {"w": 1.0}, confidence=_CONFIDENCE).overall
        held += found.low <= _RATIO <= found.high
        ratios.append(found.ratio)
        widths.append((found.high / found.low) ** 0.5 - 1)
    return Found(
        holds=held / runs,
        half_width=float(np.median(widths)),
        bias=float(np.mean(ratios)) / _RATIO - 1,
        left_out=left_out / (runs * replicates * rounds),
    )


def _drawn(
    random: np.random.RandomState, rounds: int, within: float, chance: float
) -> tuple[Floats, Floats]:
    """One replicate's rounds of both sides, in us."""
    paces = np.exp(_BETWEEN * random.randn(2, 1))
    times = _ROUND_US * paces * (1 + within * random.randn(2, rounds))
    chances = chance * _ROUND_US / _ROUND_US.min()
    times += (random.rand(2, rounds) < chances) * random.exponential(_INTERRUPTION_US, (2, rounds))
    return times[0], times[1]


def main(runs: int = 2000) -> None:
    """Print the table."""
    head = "holds | half-width | off by | left out"
    print(f"| pairs x rounds | scatter | interrupted | without: {head} | with the band: {head} |")
    print("|---" * 11 + "|")
    for replicates, rounds, sealed in COURSES:
        for within, chance in itertools.product((0.002, 0.01, 0.03), (0.0, 0.05, 0.2)):
            without, with_band = (
                judged(
                    band,
                    replicates=replicates,
                    rounds=rounds,
                    within=within,
                    chance=chance,
                    runs=runs,
                )
                for band in (None, sealed)
            )
            course = f"{replicates} x {rounds}"
            print(f"| {course} | {within:.1%} | {chance:.0%} | {without} | {with_band} |")


if __name__ == "__main__":
    with exit_when_stdout_closes():
        main()
