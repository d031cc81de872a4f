"""Stability of shapes: coverage, effective number, tail and drift, from calls per shape."""

from __future__ import annotations

import math

import numpy as np

from engagements.evidence.readers import limits
from engagements.evidence.readers.arrays import Floats, Integers
from engagements.evidence.readers.facts import Curve, Drift, Part

COVERED_BY = (1, 4, 16)
COVERED_SHARES = (0.8, 0.95, 0.99)


def totals(shape: Integers, weights: Floats, shapes: int) -> Floats:
    """Sum weights by shape."""
    return np.bincount(shape, weights, shapes).astype(np.float64)


def effective_number(weights: Floats) -> float:
    """Return the exponential of the entropy of `weights` (Hill 1973, order 1); 0 when empty."""
    total = weights.sum()
    if total <= 0:
        return 0.0
    shares = weights[weights > 0] / total
    return math.exp(float(-np.sum(shares * np.log(shares))))


def coverage(weights: Floats) -> dict[str, float]:
    """Return the shares of the 1, 4 and 16 largest `weights`."""
    ordered = np.sort(weights)[::-1]
    total = ordered.sum()
    return {str(most): float(ordered[:most].sum() / total) for most in COVERED_BY}


def shapes_for(weights: Floats) -> dict[str, int]:
    """Return how many of the largest `weights` make up 80, 95 and 99% of the total."""
    reached = np.cumsum(np.sort(weights)[::-1])
    # Tolerance for rounding errors of floating-point sums.
    enough = [reached[-1] * share * (1 - 1e-12) for share in COVERED_SHARES]
    return {
        str(share): int(np.searchsorted(reached, least)) + 1
        for share, least in zip(COVERED_SHARES, enough, strict=True)
    }


def curve(weights: Floats) -> Curve:
    """Return the cumulative share of the largest, at up to 100 points spaced by ratio."""
    reached = np.cumsum(np.sort(weights)[::-1])
    count = len(reached)
    points = np.unique(np.round(np.geomspace(1, count, limits.CURVE_POINTS)).astype(int))
    shares = reached[points - 1] / reached[-1]
    return Curve(shapes=tuple(points.tolist()), shares=tuple(np.round(shares, 6).tolist()))


def quantile(values: Floats, weights: Floats, share: float) -> float:
    """Return the smallest value that `share` of the weights do not exceed."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    place = np.searchsorted(reached, share * reached[-1] * (1 - 1e-12))
    return float(values[order][min(int(place), len(values) - 1)])


def thirds(shape: Integers, count: Floats, shapes: int) -> tuple[Floats, Floats] | None:
    """Return the calls of each shape in the first and the last third; rows in order.

    None below three rows.
    """
    if len(shape) < 3:
        return None
    reached = np.cumsum(count)
    first = reached <= reached[-1] / 3
    last = reached > reached[-1] * 2 / 3
    if not first.any() or not last.any():
        return None
    before = totals(shape[first], count[first], shapes)
    return before, totals(shape[last], count[last], shapes)


def drift(before: Floats, after: Floats) -> Drift:
    """Compare the last third of the calls (`after`) with the first (`before`), by shape."""
    difference = np.abs(before / before.sum() - after / after.sum())
    return Drift(
        distance=float(difference.sum() / 2),
        new_share=float(after[before == 0].sum() / after.sum()),
        first=_part(before),
        last=_part(after),
    )


def _part(weights: Floats) -> Part:
    return Part(
        calls=int(weights.sum()),
        effective_shapes=effective_number(weights),
        distinct_shapes=int(np.sum(weights > 0)),
    )
