"""The CUDA back end; collected only where there is a GPU, reported as skipped elsewhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.harness.softmax import Measure, softmax_benchmark

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")


def _benchmark(**changes: Any) -> dict[str, Any]:
    return softmax_benchmark(device="cuda", **{"round_ms": 20.0, "max_calls": 64, **changes})


@pytest.mark.parametrize("launch", ["eager", "graph"])
def test_the_same_code_on_both_sides_is_no_faster(measure: Measure, launch: str) -> None:
    document = _benchmark(launch=launch, replicates=2, max_replicates=2, rounds=10)
    summary = measure("honest", document=document)["summary"]
    assert summary["verdict"] == "missed"
    assert 0.9 < summary["ratio"] < 1.1


def test_three_times_the_work_takes_three_times_as_long(measure: Measure) -> None:
    # Chaining costs as much as a softmax, and would hide most of the difference.
    document = _benchmark(baseline="thrice")
    del document["definition"]["chain"]
    record = measure("honest", document=document)
    assert record["summary"]["verdict"] == "met"
    assert 2.5 < record["summary"]["ratio"] < 3.5
    assert record["environment"]["device"]["kind"] == "cuda"
    assert record["environment"]["driver"]


@pytest.mark.parametrize(
    ("exploit", "kinds"),
    [
        ("early_stream", {"probe"}),
        ("early_thread", {"probe"}),
        ("cached_by_pointer", {"output"}),
        ("cached_by_shape", {"output"}),
        ("half_done", {"probe", "output"}),
        ("half_guessed", {"output"}),
        ("one_call_of_many", {"output"}),
        ("lower_precision", {"output"}),
        ("overflow", {"overflow"}),
        ("input_mutated", {"input", "output"}),
        ("state_written", {"state", "output"}),
    ],
)
def test_a_cheat_is_caught(measure: Measure, exploit: str, kinds: set[str]) -> None:
    record = measure(exploit, document=_benchmark())
    assert record["summary"]["verdict"] == "disqualified"
    assert record["findings"][0]["side"] == "candidate"
    assert record["findings"][0]["kind"] in kinds


def test_a_graph_that_replays_stale_outputs_is_caught(measure: Measure) -> None:
    record = measure("cached_by_shape", document=_benchmark(launch="graph"))
    assert record["summary"]["verdict"] == "disqualified"


def test_an_arena_opened_by_handle_in_another_process_shows_its_bytes(tmp_path: Path) -> None:
    import json
    import subprocess
    import sys

    from benchmarks.harness.devices.cuda import CudaDevice

    arena = CudaDevice().allocate(1000, read_only=False)
    arena.memory.fill_(7)
    torch.cuda.synchronize()
    handle, _ = arena.handle()
    code = (
        "import json, sys; from benchmarks.harness.devices.cuda import CudaDevice;"
        "arena = CudaDevice().open(json.loads(sys.argv[1]), []);"
        "print(int(arena.memory[:1000].sum())); arena.memory[:10].fill_(9); arena.close()"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code, json.dumps(handle)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        check=False,
    )
    assert answer.stdout.strip() == "7000", answer.stderr
    assert arena.memory[:11].tolist() == [9] * 10 + [7]
    arena.close()
