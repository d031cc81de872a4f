"""The estimate and its interval, from raw samples with numpy alone.

The estimate is the ratio of traffic-weighted total times. Its interval is a hierarchical
bootstrap: replicates are resampled, then rounds inside each (Kalibera and Jones, Rigorous
benchmarking in reasonable time, 2013). Of R replicates R - 1 are drawn, which makes the
bootstrap's variance unbiased for the few replicates that a run has (McCarthy and Snowden, The
bootstrap and finite population sampling, 1985); drawing R would understate it by 1/R.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
BAND = 1.5

Floats = NDArray[np.float64]
Samples = Mapping[str, Sequence[tuple[Floats, Floats]]]
"""By workload, one (baseline, candidate) pair of arrays of us per call for each replicate."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A ratio of baseline to candidate time with its interval, and the mean times in us."""

    baseline_us: float
    candidate_us: float
    ratio: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """Over all traffic, and by workload."""

    overall: Estimate
    workloads: Mapping[str, Estimate]


def inside_band(baseline: Floats, candidate: Floats) -> NDArray[np.bool_]:
    """Which pairs of one workload and replicate count: neither time is over BAND medians.

    A round far over its own side's median was interrupted by something else on the machine;
    such pairs are left out whole, so that both sides keep the same rounds.
    """
    kept: NDArray[np.bool_] = (baseline <= BAND * np.median(baseline)) & (
        candidate <= BAND * np.median(candidate)
    )
    return kept


def estimate(
    samples: Samples, weights: Mapping[str, float], *, confidence: float, seed: int
) -> Estimates:
    """Estimate the ratio at `confidence`; the same samples and seed give the same numbers.

    Every workload has the same number of replicates, at least one, each with one round or
    more. Raises ValueError otherwise.
    """
    counts = {len(replicates) for replicates in samples.values()}
    if len(counts) != 1 or 0 in counts or set(samples) != set(weights):
        raise ValueError("every workload needs samples from every replicate")
    # RandomState's stream is frozen by numpy's own promise, a Generator's is not: a verdict
    # must come out the same in ten years.
    random = np.random.RandomState(seed)
    drawn = _drawn_replicates(random, counts.pop())
    means = {name: _means(samples[name]) for name in sorted(samples)}
    resampled = {name: _resampled(random, samples[name], drawn) for name in sorted(samples)}
    workloads = {
        name: _estimate(means[name], resampled[name], confidence) for name in sorted(samples)
    }
    total = sum(weights[name] * means[name] for name in means)
    resampled_total = sum(weights[name] * resampled[name] for name in resampled)
    assert isinstance(total, np.ndarray)
    assert isinstance(resampled_total, np.ndarray)
    return Estimates(overall=_estimate(total, resampled_total, confidence), workloads=workloads)


def _drawn_replicates(random: np.random.RandomState, replicates: int) -> NDArray[np.int64]:
    """Which replicates each resample draws: [RESAMPLES, R - 1], the same for all workloads."""
    drawn = random.randint(0, replicates, size=(RESAMPLES, max(1, replicates - 1)))
    return drawn.astype(np.int64)


def _means(replicates: Sequence[tuple[Floats, Floats]]) -> Floats:
    """[2]: baseline and candidate, the mean over replicates of each one's mean."""
    return np.array(
        [[baseline.mean(), candidate.mean()] for baseline, candidate in replicates]
    ).mean(axis=0)


def _resampled(
    random: np.random.RandomState,
    replicates: Sequence[tuple[Floats, Floats]],
    drawn: NDArray[np.int64],
) -> Floats:
    """[2, RESAMPLES]: the mean times of every resample. A pair of rounds stays together."""
    totals = np.zeros((2, RESAMPLES))
    for index, (baseline, candidate) in enumerate(replicates):
        # Every slot that drew this replicate draws rounds of its own inside it.
        slots = drawn == index
        rounds = random.randint(0, len(baseline), size=(int(slots.sum()), len(baseline)))
        for row, times in enumerate((baseline, candidate)):
            filled = np.zeros(drawn.shape)
            filled[slots] = times[rounds].mean(axis=1)
            totals[row] += filled.sum(axis=1)
    return totals / drawn.shape[1]


def _estimate(means: Floats, resampled: Floats, confidence: float) -> Estimate:
    tail = (1 - confidence) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = resampled[0] / resampled[1]
    low, high = np.quantile(ratios, [tail, 1 - tail])
    return Estimate(
        baseline_us=float(means[0]),
        candidate_us=float(means[1]),
        ratio=float(means[0] / means[1]),
        low=float(low),
        high=float(high),
    )
