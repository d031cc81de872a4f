"""`python -m kernels.rank_trials OPERATOR`: check and time Solutions of several ranks here.

For tuning and tests, not for verdicts: no side is confined. Starts one process a rank (gloo on
processors, NCCL on GPUs), gives every rank its part of the same random tensors, compares each
rank's outputs with the reference and, on GPUs, times replays of a CUDA graph.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from kernels import catalogue
from kernels.definition import NotAvailable, TensorSpec, Tolerance

AXIS = "ranks"
_LIMIT_S = 300.0
_SETS, _REPEATS = 8, 15


def tried(
    operator: str,
    names: Sequence[str],
    axes: Mapping[str, int],
    dtype: str,
    device: str,
    *,
    level: str = "operator",
    limit_s: float = _LIMIT_S,
) -> list[dict[str, Any]]:
    """Each Solution's `name`, `note` ("right", or what is wrong) and `call_us` (None on CPUs).

    `level` is "operator" or "program". A wrong or failing rank makes the whole Solution so.
    RuntimeError when a rank dies or all do not end within `limit_s` seconds.
    """
    task = {
        "operator": operator,
        "names": list(names),
        "axes": dict(axes),
        "dtype": dtype,
        "device": device,
        "level": level,
    }
    with tempfile.TemporaryDirectory() as folder:
        ranks = [
            subprocess.Popen(
                [sys.executable, "-m", "kernels.rank_trials", "--rank", str(rank), folder],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "OMP_NUM_THREADS": "1"},
            )
            for rank in range(axes[AXIS])
        ]
        try:
            for process in ranks:
                assert process.stdin is not None
                process.stdin.write(json.dumps(task))
                process.stdin.close()
                process.stdin = None
            answers = [process.communicate(timeout=limit_s)[0] for process in ranks]
        finally:
            for process in ranks:
                process.kill()
    if any(process.returncode for process in ranks):
        raise RuntimeError(f"a rank failed: {[process.returncode for process in ranks]}")
    found = [json.loads(answer.splitlines()[-1]) for answer in answers]
    return [_worst(parts) for parts in zip(*found, strict=True)]


def _worst(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The first rank's wrong answer, and the slowest rank's time."""
    wrong = [part for part in parts if part["note"] != "right"]
    times = [part["call_us"] for part in parts if part["call_us"] is not None]
    return {**(wrong or parts)[0], "call_us": max(times, default=None)}


def local(tensors: Mapping[str, Any], specs: Sequence[TensorSpec], rank: int) -> dict[str, Any]:
    """One rank's part: of tensors that are split over the ranks, its own."""
    split = {spec.name for spec in specs if spec.shape[:1] == (AXIS,)}
    return {name: each[rank] if name in split else each for name, each in tensors.items()}


def _as_rank(rank: int, folder: str, task: dict[str, Any]) -> list[dict[str, Any]]:
    import torch
    import torch.distributed as dist

    ranks, on_gpu = task["axes"][AXIS], task["device"] == "cuda"
    if on_gpu:
        torch.cuda.set_device(rank)
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if on_gpu else "gloo",
        store=dist.FileStore(str(Path(folder) / "store"), ranks),
        rank=rank,
        world_size=ranks,
        timeout=timedelta(seconds=_LIMIT_S),
        device_id=torch.device("cuda", rank) if on_gpu else None,
    )
    torch.set_grad_enabled(False)
    return [_solution(rank, task, name) for name in task["names"]]


def _solution(rank: int, task: dict[str, Any], name: str) -> dict[str, Any]:
    import torch

    from kernels import solutions, trials
    from kernels.solutions import Solution

    what = catalogue.definition(task["operator"])
    axes, dtype, device = task["axes"], getattr(torch, task["dtype"]), task["device"]
    program = task["level"] == "program"
    prefix = "program_" if program else ""
    parts = {part: getattr(what, prefix + part) for part in ("state", "inputs", "outputs")}
    # The same numbers on every rank.
    torch.manual_seed(17)
    state, inputs = (trials.draw(parts[part], axes, dtype, device) for part in ("state", "inputs"))
    module = solutions.reference(task["operator"])
    reference = module.reference_step if program else module.reference
    expected = reference(state=state, inputs=inputs, axes=axes)
    mine = local(state, parts["state"], rank), local(inputs, parts["inputs"], rank)
    out = local(
        {spec.name: trials.poison(spec, axes, dtype, device) for spec in parts["outputs"]},
        parts["outputs"],
        rank,
    )
    try:
        solution: Solution = solutions.named(task["operator"], name)
        step = _step(task["operator"], solution, mine[0], axes, program=program)
        step(mine[1], out)
    except NotAvailable as reason:
        return {"name": name, "note": f"not available: {reason}", "call_us": None}
    tolerance: Tolerance = what.tolerances[task["dtype"]]
    if not program:
        tolerance = what.operator_tolerances.get(task["dtype"], tolerance)
    for output, tensor in expected.items():
        right, words = trials.compare(out[output], tensor[rank], tolerance)
        if not right:
            return {"name": name, "note": f"rank {rank}: {output}: {words}", "call_us": None}
    call_us = _timed_us(step, mine[1], out) if device == "cuda" else None
    return {"name": name, "note": "right", "call_us": call_us}


def _step(operator: str, solution: Any, state: Any, axes: Any, *, program: bool) -> Any:
    from kernels import solutions

    if program:
        return solutions.program(operator).Step(solution=solution, state=state, axes=axes)
    prepared = solution.prepare(state, axes)
    return lambda inputs, out: solution.run(prepared, inputs, out)


def _timed_us(step: Any, inputs: Any, out: Any) -> float:
    """The median time of a call in a graph of a few calls."""
    import torch
    import torch.distributed as dist

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step(inputs, out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(_SETS):
            step(inputs, out)
    times = []
    for _ in range(_REPEATS):
        torch.cuda.synchronize()
        dist.barrier()
        started = time.perf_counter()
        graph.replay()
        torch.cuda.synchronize()
        times.append(1e6 * (time.perf_counter() - started) / _SETS)
    return statistics.median(times)


def main() -> int:
    """Print one line a Solution and workload; exit code 1 if one is wrong."""
    parser = argparse.ArgumentParser(prog="python -m kernels.rank_trials")
    parser.add_argument("operator")
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--only", help="a Solution's name")
    parser.add_argument("--level", choices=["operator", "program"], default="operator")
    asked = parser.parse_args()
    preset = catalogue.preset_named(asked.operator, asked.preset)
    names = [*catalogue.baselines(asked.operator), *catalogue.candidates(asked.operator)]
    wrong = False
    for load in preset.workloads:
        chosen = [name for name in names if asked.only in (None, name)]
        for one in tried(
            asked.operator, chosen, load.axes, preset.dtype, preset.device, level=asked.level
        ):
            took = "" if one["call_us"] is None else f"{one['call_us']:.1f} us"
            print(f"{load.name:24} {one['name']:24} {took:>12} {one['note']}", flush=True)
            wrong = wrong or not one["note"].startswith(("right", "not available"))
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        import torch.distributed

        print(json.dumps(_as_rank(int(sys.argv[2]), sys.argv[3], json.load(sys.stdin))), flush=True)
        torch.distributed.destroy_process_group()
    else:
        sys.exit(main())
