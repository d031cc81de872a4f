"""Sides of several ranks: two processes each, on processors, under the whole isolation."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from benchmarks.harness.devices import rank_layouts
from benchmarks.harness.devices.layouts import Layout
from benchmarks.harness.devices.rank_devices import RankedCpuDevice
from benchmarks.harness.devices.rank_telemetry import RankedTelemetry
from benchmarks.harness.devices.telemetry import Reading
from benchmarks.harness.failures import SetupError
from benchmarks.harness.runs import candidates, referee
from benchmarks.harness.runs.progress import Progress
from benchmarks.harness.sides import isolation
from benchmarks.harness.sides.rank_groups import _joined, _part
from benchmarks.records import records
from benchmarks.records.canonical import canonical
from benchmarks.verdict import consistency
from tests.harness.softmax import ranks_benchmark

SPECS = [
    {"name": "x", "shape": ["ranks", "n"]},
    {"name": "same", "shape": ["n"]},
]
AXES = {"ranks": 3, "n": 5}


def test_a_run_of_two_ranks_gives_a_record_that_holds() -> None:
    document = ranks_benchmark(held_back_shapes=1, operator_rounds=2, aa_rounds=0)
    record = referee.run(
        document,
        candidates.read("allreduce_residual_norm/torch_gather"),
        device_kind="cpu",
        command="twofold run b.json allreduce_residual_norm/torch_gather --out r.json",
        progress=Progress(document, shown=False),
        required_isolation=isolation.FULL,
    )
    assert record["findings"] == []
    assert record["environment"]["ranks"] == {"count": 2, "devices": None, "links": None}
    (workload,) = record["replicates"][0]["workloads"]
    assert set(workload["checks"]["rms"]["candidate"]) == {"y", "stream"}
    assert {trial["outcome"] for trial in record["correctness"]["trials"]} == {"right"}
    assert consistency.problems(records.load(canonical(record))) == []


def test_a_split_tensor_is_each_ranks_own_and_any_other_the_same() -> None:
    layout = rank_layouts.plan(SPECS, AXES, "float32", 2)
    memory = torch.zeros(layout.nbytes, dtype=torch.uint8)
    for region in layout.regions:
        layout.flat(memory, region).normal_()
    layout.replicate(memory)
    tensors = layout.tensors(memory, 1)
    assert torch.equal(tensors["same@0"], tensors["same@2"])
    assert not torch.equal(tensors["x@0"], tensors["x@2"])
    assert tensors["x@1"].shape == (5,)


def test_each_rank_opens_its_own_share_at_the_same_layout() -> None:
    layout = rank_layouts.plan(SPECS, AXES, "float32", 2)
    device = RankedCpuDevice(3)
    arena = device.allocate(layout.nbytes, read_only=False)
    layout.tensors(arena.memory, 1)["x@2"].fill_(7.0)
    handle, descriptors = arena.handle()
    opened = device.open(_part(handle, 2), descriptors[2:])
    share = Layout.from_data(_part({"layout": layout.as_data()}, 2)["layout"])
    assert share.tensors(opened.memory, 1)["x"].tolist() == [7.0] * 5
    opened.close()


def test_a_reference_sees_whole_tensors() -> None:
    given: dict[str, Any] = {}

    def reference(**whole: Any) -> dict[str, torch.Tensor]:
        given.update(whole["inputs"])
        return {"y": 2 * whole["inputs"]["x"]}

    definition = {"state": [], "inputs": SPECS}
    of_ranks = rank_layouts.of_all_ranks(reference, definition, "")
    parts = {f"x@{rank}": torch.full((5,), float(rank)) for rank in range(3)}
    found = of_ranks(state={}, inputs={**parts, "same@0": torch.ones(5)}, axes=AXES)
    assert given["x"].shape == (3, 5)
    assert given["same"].shape == (5,)
    assert found["y@2"].tolist() == [4.0] * 5


def test_a_rank_gets_its_part_of_a_message_and_its_own_links() -> None:
    links = [
        {"input": f"x@{rank}", "output": f"y@{rank}", "threshold": 0.5, "shift": rank}
        for rank in range(2)
    ]
    message = {"type": "go", "arena": {"ranks": ["a", "b"]}, "chain": links}
    assert _part(message, 1) == {
        "type": "go",
        "arena": "b",
        "chain": [{"input": "x", "output": "y", "threshold": 0.5, "shift": 1}],
    }


def test_what_any_rank_changed_is_in_the_sides_answer() -> None:
    replies = [{"changed": ["a"], "type": "audited"}, {"changed": ["a", "b"], "type": "audited"}]
    assert _joined(replies) == {"changed": ["a", "b"], "type": "audited"}


@pytest.mark.parametrize("counts", [(1,), (2, 4)])
def test_a_benchmark_has_one_number_of_ranks(counts: tuple[int, ...]) -> None:
    document = ranks_benchmark()
    (workload,) = document["workloads"]
    document["workloads"] = [
        {**workload, "axes": {**workload["axes"], "ranks": count}} for count in counts
    ]
    with pytest.raises(SetupError, match="same number of ranks"):
        rank_layouts.count(document)


class _Gpu:
    def __init__(self, sm_mhz: int, throttle: int, pids: list[int] | None) -> None:
        self._reading = Reading(
            sm_mhz=sm_mhz, memory_mhz=1, power_w=1.0, temperature_c=sm_mhz, throttle=throttle
        )
        self._pids = pids

    def read(self) -> Reading:
        return self._reading

    def ecc_uncorrected(self) -> int | None:
        return 1

    def processes(self) -> list[int] | None:
        return self._pids

    def utilization_percent(self) -> int | None:
        return self._reading.sm_mhz


def test_the_worst_rank_decides_what_the_telemetry_says() -> None:
    both = RankedTelemetry([_Gpu(9, 1, [1, 2]), _Gpu(5, 4, [2, 3])])
    reading = both.read()
    assert (reading.sm_mhz, reading.temperature_c, reading.throttle) == (5, 9, 5)
    assert both.processes() == [1, 2, 3]
    assert both.ecc_uncorrected() == 2
    assert RankedTelemetry([_Gpu(9, 1, [1]), _Gpu(5, 4, None)]).processes() is None
