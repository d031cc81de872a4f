"""Which rounds something else on the machine interrupted. Their pairs are left out whole.

A round far over its side's median was interrupted: that has always been so, and BAND medians are
far. But what interrupts rounds on a GPU's host lasts some milliseconds, a tenth of a round, and
makes an interval of four such rounds three to ten times as wide. So a protocol may seal a nearer
limit, `interrupted_band`, as a share of the shorter side's median. It gives way to five times what
either side's rounds scatter by themselves (Hampel's identifier: median and median absolute
deviation, which a few outliers cannot move). And it is one time for both sides: with a limit of
each side's own, the longer side would keep interruptions that the shorter one is rid of, and the
ratio would grow by them (`python -m benchmarks.precision.simulations.interruptions`). More of
them than a quarter of a replicate's rounds are no interruptions, but how a side runs: they count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.statistics.estimates import Floats

Flags = NDArray[np.bool_]

BAND = 1.5
_DEVIATIONS = 5.0
# The standard deviation of normal noise, in median absolute deviations.
_NORMAL = 1.4826
_LARGEST_SHARE = 0.25


def sealed_band(record: Mapping[str, Any]) -> float | None:
    """The record's nearer limit; None where it was sealed before there was one."""
    band: float | None = record["benchmark"]["protocol"].get("interrupted_band")
    return band


def interrupted(baseline: Floats, candidate: Floats, band: float | None) -> tuple[Flags, Flags]:
    """Which rounds of each side were, in one workload and replicate; `band` as sealed, if it was.

    The k-th round of one side ran beside the k-th of the other; times are in us per call.
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
    """Which pairs of rounds are left."""
    first, second = interrupted(baseline, candidate, band)
    return ~(first | second)


def _far(times: Floats) -> Flags:
    far: Flags = times > BAND * np.median(times)
    return far


def _above(times: Floats, limit_us: float) -> Flags:
    above: Flags = times - np.median(times) > limit_us
    return above


def _noise_us(times: Floats) -> float:
    """The standard deviation that normal noise would have, by the median absolute deviation."""
    return _NORMAL * float(np.median(np.abs(times - np.median(times))))
