"""Detect rounds that other work on the machine interrupted; their pairs are excluded.

A round longer than BAND medians of its side is interrupted. Interruptions on a GPU's host last some
milliseconds, a tenth of a round, yet widen the interval of four rounds three- to tenfold. So a
protocol may seal a tighter limit, `interrupted_band`, as a share of the shorter side's median. It
is at least five times the scatter of either side (Hampel's identifier: median and median absolute
deviation). Both sides share one limit in us: with a limit of its own, the longer side would keep
interruptions that the shorter one loses, which would raise the ratio (`python -m
benchmarks.precision.simulations.interruptions`). If more than a quarter of a process's rounds is
flagged, that is how the side runs, and they count. So of three rounds none is excluded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.verdict.statistics import rules
from benchmarks.verdict.statistics.estimates import Floats

Flags = NDArray[np.bool_]

BAND = 1.5
_DEVIATIONS = 5.0
# The standard deviation of normal noise, in median absolute deviations.
_NORMAL = 1.4826
_LARGEST_SHARE = 0.25


@dataclass(frozen=True, kw_only=True)
class Exclusion:
    """The sealed rule: the tighter limit, if any, and whether a quarter is the most in any case.

    Benchmarks from before the second rule could lose one round however few there were, and any
    number beyond BAND.
    """

    band: float | None = None
    at_most_a_quarter: bool = True

    def excess(self, flags: tuple[Flags, Flags]) -> bool:
        """Whether these flags exclude too many pairs."""
        most = int(_LARGEST_SHARE * len(flags[0]))
        if not self.at_most_a_quarter:
            most = max(1, most)
        return bool((flags[0] | flags[1]).sum() > most)


def sealed(record: Mapping[str, Any]) -> Exclusion:
    """The rule that the record's benchmark was sealed with."""
    return Exclusion(
        band=record["benchmark"]["protocol"].get("interrupted_band"),
        at_most_a_quarter=rules.of(record) > 1,
    )


def interrupted(baseline: Floats, candidate: Floats, rule: Exclusion) -> tuple[Flags, Flags]:
    """Flag the interrupted rounds of each side, in one workload and replicate.

    Round k of one side is paired with round k of the other; times are in us per call.
    """
    far = _far(baseline), _far(candidate)
    if rule.at_most_a_quarter and rule.excess(far):
        far = np.zeros_like(far[0]), np.zeros_like(far[1])
    if rule.band is None:
        return far
    limit_us = max(
        rule.band * min(float(np.median(baseline)), float(np.median(candidate))),
        _DEVIATIONS * _noise_us(baseline),
        _DEVIATIONS * _noise_us(candidate),
    )
    near = _above(baseline, limit_us), _above(candidate, limit_us)
    both = near[0] | far[0], near[1] | far[1]
    return far if rule.excess(both if rule.at_most_a_quarter else near) else both


def uninterrupted(baseline: Floats, candidate: Floats, rule: Exclusion) -> Flags:
    """Flag the pairs in which neither round was interrupted."""
    first, second = interrupted(baseline, candidate, rule)
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
