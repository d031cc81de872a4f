"""Isolation with a GPU: which arrangement CUDA bears, and that a whole run works in it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
import torch

from benchmarks.harness.sides import isolation, sandboxes, user_ids
from tests.harness.softmax import Measure, softmax_benchmark

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]


@pytest.mark.parametrize("arrangement", sandboxes._AS_ROOT, ids=str)
def test_memory_opens_by_handle_in_every_arrangement(arrangement: sandboxes.Arrangement) -> None:
    from benchmarks.harness.devices.cuda import CudaDevice

    if os.geteuid() != 0:
        pytest.skip("needs root")
    device = CudaDevice()
    arena = device.allocate(1, read_only=False)
    handle, _ = arena.handle()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o711)
        (folder / "candidate.py").touch()
        with user_ids.reserved() as first_user:
            made_cells = sandboxes._sandboxes(
                arrangement,
                folder=folder,
                candidate=folder / "candidate.py",
                cuda=True,
                first_user=first_user,
            )
            found = sandboxes._try(made_cells["candidate"], folder=folder, arena=handle["ipc"])
    arena.close()
    print(arrangement, found)
    if arrangement.own_view:
        # Seen on an H200: CUDA does not start there. Where it does, all the better.
        assert isinstance(found, dict) or "304" in found
    elif not arrangement.guarded:
        assert isinstance(found, dict), found


def test_a_run_has_what_cuda_bears_and_its_record_says_so(measure: Measure) -> None:
    document = softmax_benchmark(device="cuda", round_ms=20.0, max_calls=64, baseline="thrice")
    # Signing the chain costs as much as a softmax, on both sides.
    del document["definition"]["chain"]
    record = measure("honest", document=document)
    held = record["environment"]["isolation"]
    print(record["summary"]["verdict"], record["summary"]["reasons"], held)
    missing = {name for name in isolation.FULL if not held[name]}
    assert missing <= {"files_hidden", "own_process_ids", "scratch_limited"}
    assert record["summary"]["verdict"] == "met"
    assert record["summary"]["ratio"] > 2.5
