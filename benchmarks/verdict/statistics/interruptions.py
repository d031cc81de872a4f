"""Detect rounds that other work on the machine interrupted; their pairs are excluded.

A round longer than BAND medians of its side is interrupted. Interruptions on a GPU's host last some
milliseconds, a tenth of a round, yet widen the interval of four rounds three- to tenfold. So a
protocol may seal a tighter limit, `interrupted_band`, as a share of the shorter side's median. It
is at least five times the scatter of either side (Hampel's identifier: median and median absolute
deviation). Both sides share one limit in us: with a limit of its own, the longer side would keep
interruptions that the shorter one loses, which would raise the ratio (`python -m
benchmarks.precision.simulations.interruptions`). If it flags more than a quarter of a replicate's
rounds, that is how the side runs, and they count.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.verdict.statistics.estimates import Floats

Flags = NDArray[np.bool_]

BAND = 1.5
_DEVIATIONS = 5.0
# The standard deviation of normal noise, in median absolute deviations.
_NORMAL = 1.4826
_LARGEST_SHARE = 0.25


def sealed_band(record: Mapping[str, Any]) -> float | None:
    """The sealed tighter limit; None in benchmarks from before it existed."""
    band: float | None = record["benchmark"]["protocol"].get("interrupted_band")
    return band


def interrupted(baseline: Floats, candidate: Floats, band: float | None) -> tuple[Flags, Flags]:
    """Flag the interrupted rounds of each side, in one workload and replicate.

    Round k of one side is paired with round k of the other; times are in us per call.
    """
    far = _far(baseline), _far(candidate)
    if band is None:
        return far
    limit_us = max(
        band * min(float(np.median(baseline)), float(np.median(candidate))),
        _DEVIATIONS * _noise_us(baseline),
        _DEVIATIONS * _noise_us(candidate),
    )
    near = _above(baseline, limit_us), _above(candidate, limit_us)
    if (near[0] | near[1]).sum() > max(1, _LARGEST_SHARE * len(baseline)):
        return far
    return near[0] | far[0], near[1] | far[1]


def uninterrupted(baseline: Floats, candidate: Floats, band: float | None) -> Flags:
    """Flag the pairs in which neither round was interrupted."""
    first, second = interrupted(baseline, candidate, band)
    return ~(first | second)


def _far(times: Floats) -> Flags:
    far: Flags = times > BAND * np.median(times)
    return far


def _above(times: Floats, limit_us: float) -> Flags:
    above: Flags = times - np.median(times) > limit_us
    return above


def _noise_us(times: Floats) -> float:
    """The standard deviation of normal noise with this median absolute deviation."""
    return _NORMAL * float(np.median(np.abs(times - np.median(times))))
