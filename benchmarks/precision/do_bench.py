"""Triton's `do_bench` on the same function, for comparison."""

from __future__ import annotations

from collections.abc import Callable

import torch


def ratio(make: Callable[[], Callable[[], None]]) -> float:
    """The ratio of two calls by `do_bench` with its defaults, each on its own memory."""
    from triton import testing

    times_ms = []
    for _ in range(2):
        times_ms.append(testing.do_bench(make()))
        torch.cuda.empty_cache()
    return float(times_ms[0] / times_ms[1])
