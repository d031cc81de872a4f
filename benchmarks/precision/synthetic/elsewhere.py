"""Measure the same synthetic program with `do_bench`: its ratio and its cost.

    python -m benchmarks.precision.synthetic.elsewhere 1000
    python -m benchmarks.precision.synthetic.elsewhere 1000 --true-ratio 1 --times 5

The first line's seconds include the process's imports.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch

from benchmarks.precision.conditions import AXES, DTYPES
from benchmarks.precision.synthetic.programs import units_of


def ratio(baseline_units: int, candidate_units: int) -> float:
    """The baseline's time over the candidate's by `do_bench` with its defaults."""
    from triton import testing

    axes, dtype = AXES["cuda"], getattr(torch, DTYPES["cuda"])
    shape = axes["layers"], axes["columns"], axes["columns"]
    x = torch.randn(axes["rows"], axes["columns"], device="cuda", dtype=dtype)
    w = torch.randn(shape, device="cuda", dtype=dtype)
    y = torch.empty_like(x)

    def program(units: int) -> Callable[[], None]:
        def run() -> None:
            for unit in reversed(range(units)):
                torch.mm(x, w[unit % len(w)], out=y)

        return run

    baseline_ms, candidate_ms = (
        testing.do_bench(program(units)) for units in (baseline_units, candidate_units)
    )
    return float(baseline_ms / candidate_ms)


def main() -> None:
    """Print one line per measurement."""
    started = time.monotonic()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.precision.synthetic.elsewhere")
    parser.add_argument("call_us", type=int, help="about what a call of the baseline takes")
    parser.add_argument("--true-ratio", type=float, default=2.2)
    parser.add_argument("--times", type=int, default=1)
    asked = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("do_bench needs a CUDA device, and torch sees none here")
    units = units_of("cuda", asked.call_us, asked.true_ratio)
    for _ in range(asked.times):
        found = ratio(*units)
        spent_s, started = time.monotonic() - started, time.monotonic()
        print(f"do_bench: {found:.4f}x, truly {units[0] / units[1]:.4f}x, {spent_s:.1f} s")


if __name__ == "__main__":
    main()
