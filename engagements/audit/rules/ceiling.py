"""The ceiling: what a faster kernel makes of the whole (Amdahl 1967).

With `share` the operator's share of wall-clock time and its kernel `kernel_speedup` times as
fast, the whole is 1 / ((1 - share) + share / kernel_speedup) times as fast.
"""

from __future__ import annotations

import math

CURVE_POINTS = 60


def ratio(share: float, kernel_speedup: float) -> float:
    """How many times as fast the whole becomes. `share` is 0 to 1, `kernel_speedup` above 0.

    ValueError outside of that. An infinite speedup is one.
    """
    if not 0 <= share <= 1 or not kernel_speedup > 0:
        raise ValueError(f"There is no ceiling for {share} of the time, {kernel_speedup}x.")
    left = (1 - share) + share / kernel_speedup
    return 1 / left if left > 0 else math.inf


def infinite(share: float) -> float | None:
    """The ratio of an infinitely fast kernel; None where the operator is all there is."""
    return 1 / (1 - share) if share < 1 else None


def needed(share: float, target: float) -> float | None:
    """The kernel speedup that makes the whole `target` times as fast; None when none does."""
    left = 1 / target - (1 - share)
    return share / left if left > 0 else None


def curve(share: float, up_to: float) -> tuple[tuple[float, float], ...]:
    """Points (kernel speedup, ratio) from 1 to `up_to`, evenly spaced by factors, to draw."""
    top = max(up_to, 2.0)
    steps = [top ** (step / (CURVE_POINTS - 1)) for step in range(CURVE_POINTS)]
    return tuple((speedup, ratio(share, speedup)) for speedup in steps)
