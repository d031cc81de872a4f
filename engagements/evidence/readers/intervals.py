"""Unions of time intervals, as pairs of arrays."""

from __future__ import annotations

import numpy as np

from engagements.evidence.readers.arrays import Floats


def merged(starts: Floats, ends: Floats) -> tuple[Floats, Floats]:
    """Merge into disjoint intervals in order of time."""
    if len(starts) == 0:
        return starts, ends
    order = np.argsort(starts, kind="stable")
    starts, reached = starts[order], np.maximum.accumulate(ends[order])
    begins = np.concatenate(([True], starts[1:] > reached[:-1]))
    stops = np.concatenate((begins[1:], [True]))
    return starts[begins], reached[stops]


def covered(starts: Floats, ends: Floats) -> float:
    """Return the time covered by the intervals, overlap counted once."""
    left, right = merged(starts, ends)
    return float(np.sum(right - left))


def clipped(starts: Floats, ends: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Clip intervals to `low` to `high`; those outside get length 0."""
    return np.clip(starts, low, high), np.clip(ends, low, high)


def covered_by_bucket(starts: Floats, ends: Floats, edges: Floats) -> Floats:
    """Return the time covered in each bucket between `edges` by ordered disjoint intervals."""
    if len(starts) == 0:
        return np.zeros(len(edges) - 1)
    times = np.empty(2 * len(starts))
    times[0::2], times[1::2] = starts, ends
    so_far = np.zeros(2 * len(starts))
    lengths = ends - starts
    so_far[1::2] = np.cumsum(lengths)
    so_far[2::2] = so_far[1:-1:2]
    return np.diff(np.interp(edges, times, so_far))
