"""What Triton's `do_bench` says of the same function, measured twice as people do."""

from __future__ import annotations

from collections.abc import Callable

import torch


def ratio(make: Callable[[], Callable[[], None]]) -> float:
    """Of two calls with its defaults, each on memory that was allocated for it."""
    from triton import testing

    times_ms = []
    for _ in range(2):
        times_ms.append(testing.do_bench(make()))
        torch.cuda.empty_cache()
    return float(times_ms[0] / times_ms[1])
