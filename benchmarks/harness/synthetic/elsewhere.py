"""The same synthetic program under other people's benchmarks: what they say and what they cost.

    python -m benchmarks.harness.synthetic.elsewhere do_bench 1000
    python -m benchmarks.harness.synthetic.elsewhere flashinfer_bench 1000 --true-ratio 1 --times 5

`flashinfer_bench` needs that package. Seconds are the process's, its imports included.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness.precision.conditions import AXES, DTYPES
from benchmarks.harness.synthetic.programs import units_of

_RUN = """import torch

def run(x, w):
    y = torch.empty_like(x)
    for _ in range({units}):
        torch.mm(x, w, out=y)
    return y
"""


def by_do_bench(baseline_units: int, candidate_units: int) -> float:
    """Baseline's time over candidate's, each `do_bench` with its defaults."""
    import torch
    from triton import testing

    axes, dtype = AXES["cuda"], getattr(torch, DTYPES["cuda"])
    x = torch.randn(axes["rows"], axes["columns"], device="cuda", dtype=dtype)
    w = torch.randn(axes["columns"], axes["columns"], device="cuda", dtype=dtype)
    times_ms = []
    for units in (baseline_units, candidate_units):
        namespace: dict[str, Any] = {}
        exec(_RUN.format(units=units), namespace)  # noqa: S102  # the very text the other runs
        times_ms.append(testing.do_bench(lambda run=namespace["run"]: run(x, w)))
    return float(times_ms[0] / times_ms[1])


def by_flashinfer_bench(baseline_units: int, candidate_units: int) -> float:
    """The speed-up that its Benchmark reports with its defaults, the baseline as reference."""
    from flashinfer_bench.bench import Benchmark, BenchmarkConfig
    from flashinfer_bench.data import (
        BuildSpec,
        Definition,
        Solution,
        SourceFile,
        Trace,
        TraceSet,
        Workload,
    )

    tensor = {"dtype": DTYPES["cuda"]}
    definition = Definition(
        name="unit_products",
        op_type="gemm",
        axes={name: {"type": "const", "value": size} for name, size in AXES["cuda"].items()},
        inputs={
            "x": {"shape": ["rows", "columns"], **tensor},
            "w": {"shape": ["columns", "columns"], **tensor},
        },
        outputs={"y": {"shape": ["rows", "columns"], **tensor}},
        reference=_RUN.format(units=baseline_units),
    )
    solution = Solution(
        name="candidate",
        definition=definition.name,
        author="twofold",
        spec=BuildSpec(
            language="python",
            target_hardware=["cuda"],
            entry_point="main.py::run",
            destination_passing_style=False,
        ),
        sources=[SourceFile(path="main.py", content=_RUN.format(units=candidate_units))],
    )
    inputs = {name: {"type": "random"} for name in ("x", "w")}
    workload = Workload(axes={}, inputs=inputs, uuid="units")
    with tempfile.TemporaryDirectory() as folder:
        asked = TraceSet(
            root=Path(folder),
            definitions={definition.name: definition},
            solutions={definition.name: [solution]},
            workloads={definition.name: [Trace(definition=definition.name, workload=workload)]},
        )
        config = BenchmarkConfig(log_dir=folder)
        found = Benchmark(asked, config).run_all(dump_traces=False)
    (trace,) = found.traces[definition.name]
    if trace.evaluation.performance is None:
        raise SystemExit(f"flashinfer-bench: {trace.evaluation.status}: {trace.evaluation.log}")
    return float(trace.evaluation.performance.speedup_factor)


_RUNNERS: dict[str, Callable[[int, int], float]] = {
    "do_bench": by_do_bench,
    "flashinfer_bench": by_flashinfer_bench,
}


def main() -> None:
    """Print a line for each measurement."""
    started = time.monotonic()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.harness.synthetic.elsewhere")
    parser.add_argument("runner", choices=sorted(_RUNNERS))
    parser.add_argument("call_us", type=int, help="about what a call of the baseline takes")
    parser.add_argument("--true-ratio", type=float, default=2.2)
    parser.add_argument("--times", type=int, default=1)
    asked = parser.parse_args()
    baseline_units, candidate_units = units_of("cuda", asked.call_us, asked.true_ratio)
    true = baseline_units / candidate_units
    for _ in range(asked.times):
        ratio = _RUNNERS[asked.runner](baseline_units, candidate_units)
        spent_s, started = time.monotonic() - started, time.monotonic()
        print(f"{asked.runner}: {ratio:.4f}x, truly {true:.4f}x, {spent_s:.1f} s", flush=True)


if __name__ == "__main__":
    main()
