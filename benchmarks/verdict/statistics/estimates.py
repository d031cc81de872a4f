"""Estimate the ratio and its confidence interval from raw samples, with numpy alone.

The estimate is the ratio of traffic-weighted total times. Replicates are fresh processes, and
differences between processes (code layout, allocator, clocks) do not average out over rounds. So
the interval rests on the differences between replicates, which include the noise of the rounds,
with Student's t for the few replicates of a run (Kalibera and Jones, Rigorous benchmarking in
reasonable time, 2013). A single replicate is judged by its rounds.

A candidate that is slow in some of its processes widens that interval on both sides, and would make
a clear miss inconclusive. So the upper end is at most the ratio of its quickest process, beyond
which the baseline's own scatter reaches: no candidate is faster than its quickest process.

A percentile bootstrap over replicates, then rounds, covered the truth in 81% of simulated runs at
95% confidence; these intervals cover it in 95% (`python -m
benchmarks.precision.simulations.interim_looks`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.verdict.statistics import student_t

# Cap the interval at a factor of e^50, which is still a JSON number.
_MOST_REACH = 50.0

Floats = NDArray[np.float64]
Samples = Mapping[str, Sequence[tuple[Floats, Floats]]]
"""By workload, one (baseline, candidate) pair of arrays in us per call for each replicate."""


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
    """The estimate over all traffic, and by workload."""

    overall: Estimate
    workloads: Mapping[str, Estimate]


def estimate(
    samples: Samples, weights: Mapping[str, float], *, confidence: float, bounded: bool = True
) -> Estimates:
    """Estimate the ratio at `confidence`; `bounded` by the candidate's quickest process.

    Raises ValueError unless every workload has samples of the same replicates, and at least two
    rounds where there is one replicate.
    """
    counts = {len(replicates) for replicates in samples.values()}
    if len(counts) != 1 or 0 in counts or set(samples) != set(weights):
        raise ValueError("every workload needs samples from every replicate")
    names = sorted(samples)
    return Estimates(
        overall=_estimate(samples, {name: weights[name] for name in names}, confidence, bounded),
        workloads={name: _estimate(samples, {name: 1.0}, confidence, bounded) for name in names},
    )


def adjacent_pairs(samples: Samples) -> Samples:
    """Each process reduced to its median baseline round and the median ratio of its pairs.

    A pair's rounds follow each other, so that a machine's changing load slows both alike, and a
    median gives a disturbed pair no weight. A single replicate stays as it is, for its interval.
    """
    return {
        name: [_median_pair(*pair) for pair in replicates] if len(replicates) > 1 else replicates
        for name, replicates in samples.items()
    }


def _median_pair(baseline: Floats, candidate: Floats) -> tuple[Floats, Floats]:
    usual_us = np.median(baseline)
    return np.array([usual_us]), np.array([usual_us / np.median(baseline / candidate)])


def process_us(rounds: Floats) -> float:
    """The usual time of one process: the median of its rounds, which few disturbances move."""
    return float(np.median(rounds))


def _estimate(
    samples: Samples, weights: Mapping[str, float], confidence: float, bounded: bool
) -> Estimate:
    """The estimate over the workloads in `weights`."""
    totals = np.array(
        [
            weight * np.array([[b.mean(), c.mean()] for b, c in samples[name]])
            for name, weight in weights.items()
        ]
    ).sum(axis=0)
    baseline_us, candidate_us = (float(mean) for mean in totals.mean(axis=0))
    ratio = baseline_us / candidate_us
    most = math.inf
    if len(totals) > 1:
        # Each replicate's contribution to the logarithm of the ratio, linearised.
        pulls = totals[:, 0] / baseline_us - totals[:, 1] / candidate_us
        error, degrees = _standard_error(pulls), len(totals) - 1
        if bounded:
            most = _most(totals, confidence)
    else:
        error, degrees = _error_of_rounds(samples, weights, baseline_us, candidate_us)
    reach = math.exp(min(student_t.critical(confidence, degrees) * error, _MOST_REACH))
    return Estimate(
        baseline_us=baseline_us,
        candidate_us=candidate_us,
        ratio=ratio,
        low=ratio / reach,
        high=min(ratio * reach, most),
    )


def _most(totals: Floats, confidence: float) -> float:
    """The highest ratio that the candidate's quickest process supports.

    `totals` is (baseline, candidate) by replicate, in us. One process of the candidate is taken to
    scatter like one of the baseline, and the baseline's mean less: a candidate cannot widen either.
    """
    baseline, candidate = totals[:, 0], totals[:, 1]
    scatter = float(baseline.std(ddof=1) / baseline.mean()) * math.sqrt(1 + 1 / len(totals))
    reach = student_t.critical(confidence, len(totals) - 1) * scatter
    return float(baseline.mean() / candidate.min()) * math.exp(min(reach, _MOST_REACH))


def _error_of_rounds(
    samples: Samples, weights: Mapping[str, float], baseline_us: float, candidate_us: float
) -> tuple[float, int]:
    """Standard error of the log ratio within one replicate, and its degrees of freedom."""
    squares, fewest = 0.0, math.inf
    for name, weight in weights.items():
        ((baseline, candidate),) = samples[name]
        if len(baseline) < 2:
            raise ValueError(f"workload {name}: one round of one replicate has no interval")
        pulls = weight * (baseline / baseline_us - candidate / candidate_us)
        squares += _standard_error(pulls) ** 2
        fewest = min(fewest, len(pulls))
    return math.sqrt(squares), int(fewest) - 1


def _standard_error(values: Floats) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values))
