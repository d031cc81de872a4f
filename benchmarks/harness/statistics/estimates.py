"""The estimate and its interval, from raw samples with numpy alone.

The estimate is the ratio of traffic-weighted total times. Rounds lie inside replicates, and
replicates are fresh processes: what differs between processes (code layout, allocator,
clocks) does not average out over rounds. So the interval rests on what differs between
replicates, which holds the rounds' own noise as well, with Student's t for the few replicates
that a run has (Kalibera and Jones, Rigorous benchmarking in reasonable time, 2013). Where
there is one replicate, the rounds are all there is to go by.

A percentile bootstrap over replicates, then rounds, was tried first: with four replicates
that differ, its 95% intervals held the truth in 81% of simulated runs, these in 95%; see
`python -m benchmarks.precision.simulations.interim_looks`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.statistics import student_t

# A factor of e^50 either way says that nothing is known, and is still a JSON number.
_MOST_REACH = 50.0

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


def estimate(samples: Samples, weights: Mapping[str, float], *, confidence: float) -> Estimates:
    """Estimate the ratio at `confidence`.

    Every workload has the same number of replicates, at least one, and a single one has two
    rounds or more. Raises ValueError otherwise.
    """
    counts = {len(replicates) for replicates in samples.values()}
    if len(counts) != 1 or 0 in counts or set(samples) != set(weights):
        raise ValueError("every workload needs samples from every replicate")
    names = sorted(samples)
    return Estimates(
        overall=_estimate(samples, {name: weights[name] for name in names}, confidence),
        workloads={name: _estimate(samples, {name: 1.0}, confidence) for name in names},
    )


def _estimate(samples: Samples, weights: Mapping[str, float], confidence: float) -> Estimate:
    """The estimate over the workloads in `weights`."""
    totals = np.array(
        [
            weight * np.array([[b.mean(), c.mean()] for b, c in samples[name]])
            for name, weight in weights.items()
        ]
    ).sum(axis=0)
    baseline_us, candidate_us = (float(mean) for mean in totals.mean(axis=0))
    ratio = baseline_us / candidate_us
    if len(totals) > 1:
        # The ratio's logarithm, linearised: what each replicate adds to it.
        pulls = totals[:, 0] / baseline_us - totals[:, 1] / candidate_us
        error, degrees = _standard_error(pulls), len(totals) - 1
    else:
        error, degrees = _error_of_rounds(samples, weights, baseline_us, candidate_us)
    reach = math.exp(min(student_t.critical(confidence, degrees) * error, _MOST_REACH))
    return Estimate(
        baseline_us=baseline_us,
        candidate_us=candidate_us,
        ratio=ratio,
        low=ratio / reach,
        high=ratio * reach,
    )


def _error_of_rounds(
    samples: Samples, weights: Mapping[str, float], baseline_us: float, candidate_us: float
) -> tuple[float, int]:
    """Standard error of the ratio's logarithm and its degrees of freedom, of one replicate."""
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
