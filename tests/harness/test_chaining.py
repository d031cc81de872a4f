"""Chained calls: one's inputs depend on all results of the one before."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from benchmarks.harness.devices.chaining import Chain, Link
from benchmarks.harness.devices.cpu import CpuDevice
from benchmarks.harness.rounds import chain_costs
from benchmarks.harness.sides import operators
from benchmarks.records import documents
from benchmarks.records.documents import InvalidBenchmark
from benchmarks.verdict import controls
from benchmarks.verdict.controls import one_by_one
from kernels import catalogue
from tests.harness.samples import made_record, replicate_entry, workload_entry
from tests.harness.softmax import Measure, softmax_benchmark

LINK = Link(input="x", output="y", threshold=0.1, shift=5)


def test_every_element_of_the_output_decides_one_sign_and_no_magnitude() -> None:
    torch.manual_seed(3)
    fresh, previous = torch.randn(4, 6), torch.randn(4, 6)
    mixed = LINK.mixed(fresh, previous)
    assert torch.equal(mixed.abs(), fresh.abs())
    for place in range(previous.numel()):
        other = previous.clone()
        other.view(-1)[place] = 2 * LINK.threshold - other.view(-1)[place]
        assert int((LINK.mixed(fresh, other) != mixed).sum()) == 1


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.int8])
def test_signs_are_the_same_wherever_the_output_is_kept(dtype: torch.dtype) -> None:
    fresh, previous = torch.randn(64), (10 * torch.randn(64)).to(dtype)
    out = torch.empty_like(fresh)
    chain = Chain.from_data(Chain(links=(LINK,)).as_data())
    given = chain.mixed({"x": fresh}, {"y": previous}, {"x": out})
    assert given["x"] is out
    assert torch.equal(out, chain.mixed({"x": fresh}, {"y": previous.clone()}, {})["x"])
    assert torch.equal(out.signbit(), (previous.double() < LINK.threshold).roll(-LINK.shift))


@pytest.mark.parametrize("count", [24, 10, 7, 3, 100])
def test_every_element_of_more_or_fewer_results_signs(count: int) -> None:
    torch.manual_seed(4)
    fresh, previous = torch.randn(24), torch.randn(count)
    mixed = LINK.mixed(fresh, previous)
    assert torch.equal(mixed.abs(), fresh.abs())
    for place in range(count):
        other = previous.clone()
        other[place] = 2 * LINK.threshold - other[place]
        assert 1 <= int((LINK.mixed(fresh, other) != mixed).sum()) <= -(-24 // count)


def test_an_index_moves_within_its_table_by_every_result() -> None:
    torch.manual_seed(6)
    link = Link(input="ids", output="y", threshold=0.0, shift=2, below=101)
    ids, previous = torch.randint(101, (5,)), torch.randn(5, 7)
    moved = link.mixed(ids, previous)
    assert int(moved.min()) >= 0
    assert int(moved.max()) < 101
    for place in range(previous.numel()):
        other = previous.clone()
        other.view(-1)[place] *= -1
        assert int((link.mixed(ids, other) != moved).sum()) == 1


def test_every_bit_of_an_integer_result_signs() -> None:
    fresh, tokens = torch.randn(4, 64), torch.randint(1 << 16, (4,), dtype=torch.int32)
    mixed = LINK.mixed(fresh, tokens)
    for bit in range(16):
        other = tokens.clone()
        other[2] ^= 1 << bit
        assert int((LINK.mixed(fresh, other) != mixed).sum()) == 4


def _residual(width: int) -> Callable[[Tensor], Tensor]:
    weight = torch.randn(width, width) / width**0.5
    return lambda x: x + torch.tanh(x @ weight)


def _linear(width: int) -> Callable[[Tensor], Tensor]:
    weight = torch.randn(width, width) / width**0.5
    return lambda x: x @ weight


@pytest.mark.parametrize("made", [_residual, _linear])
def test_repeating_all_calls_at_once_gains_one_call_a_pass(
    made: Callable[[int], Callable[[Tensor], Tensor]],
) -> None:
    torch.manual_seed(5)
    calls, width, passes = 16, 256, 6
    step = made(width)
    fresh = torch.randn(calls, width)
    link = Link(input="x", output="y", threshold=0.02, shift=77)
    honest = [step(fresh[0])]
    for call in range(1, calls):
        honest.append(step(link.mixed(fresh[call], honest[-1])))
    guessed = list(step(fresh))
    for _ in range(passes):
        inputs = [fresh[0]] + [link.mixed(fresh[k], guessed[k - 1]) for k in range(1, calls)]
        guessed = list(step(torch.stack(inputs)))
    off = [float((a - b).abs().mean()) for a, b in zip(guessed, honest, strict=True)]
    assert max(off[: passes + 1]) < 1e-5
    assert min(off[passes + 2 :]) > 0.05


def test_the_same_calls_in_one_round_are_right_when_computed_in_turn(measure: Measure) -> None:
    record = measure("honest", rounds=2, held_back_shapes=0)
    assert record["findings"] == []
    (workload,) = record["replicates"][0]["workloads"]
    assert workload["calls"] > 1
    assert workload["single"] is None


def test_chained_calls_need_no_control_on_single_ones() -> None:
    record = made_record([replicate_entry(workload_entry("wide", [(2.0, 1.0)] * 3))])
    assert one_by_one.NAME not in {each.name for each in controls.judge(record)}
    del record["benchmark"]["definition"]["chain"]
    assert one_by_one.NAME in {each.name for each in controls.judge(record)}


@pytest.mark.parametrize("link", [{"z": "y"}, {"x": "z"}])
def test_a_chain_of_unknown_tensors_is_refused(link: dict[str, str]) -> None:
    document = softmax_benchmark()
    document["definition"]["chain"] = link
    with pytest.raises(InvalidBenchmark, match="chain"):
        documents.check(document)


@pytest.mark.parametrize("change", [{"distribution": "uniform"}, {"dtype": "int64"}])
def test_a_chain_of_an_input_without_signs_is_refused(change: dict[str, str]) -> None:
    document = softmax_benchmark()
    document["definition"]["program_inputs"][0] |= change
    with pytest.raises(InvalidBenchmark, match="chain"):
        documents.check(document)


def test_chaining_is_timed_for_a_gpu_under_the_fourth_rules_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    processor = CpuDevice()
    document = softmax_benchmark()
    document["workloads"][0]["axes"] = {"rows": 64, "columns": 4096}
    added_us = chain_costs.added_us(document, document["workloads"][0]["axes"], processor)
    assert 0 <= added_us < 1e5
    assert chain_costs.measured(document, processor) == {}
    gpu: Any = SimpleNamespace(kind="cuda")
    monkeypatch.setattr(chain_costs, "added_us", lambda *what: 7.0)
    assert chain_costs.measured(document, gpu) == {"wide": 7.0}
    document["protocol"]["rules"] = 3
    assert chain_costs.measured(document, gpu) == {}


def test_a_ratio_that_rests_on_the_time_of_chaining_is_no_met() -> None:
    # 3x; 2.83x with a tenth of the 90 us of chaining left in, and 2.05x with all of it.
    entry = workload_entry("wide", [(303.0, 100.0), (300.0, 100.0), (301.0, 101.0)])
    entry["chain_us"] = 90.0
    pair = {"first": "baseline", "baseline_us": 303.0, "candidate_us": 100.0}
    operator = {"name": "wide", "slot": 0, "calls": 4, "overhead_us": 9.0, "rounds": [pair] * 3}
    for target, accounted, verdict in (
        (2.0, False, "met"),
        (2.5, True, "met"),
        (2.5, False, "inconclusive"),
        (2.9, True, "inconclusive"),
    ):
        document = softmax_benchmark(account_margin=0.3) | {"target": target}
        seen = {"operator": [operator] if accounted else None}
        record = made_record([replicate_entry(entry)], document=document, seen=seen)
        assert record["summary"]["verdict"] == verdict, record["summary"]["reasons"]


def test_a_benchmark_sealed_without_a_chain_is_measured_without(measure: Measure) -> None:
    document = softmax_benchmark(rounds=2, held_back_shapes=0)
    unchained = copy.deepcopy(document)
    del unchained["definition"]["chain"]
    operators.check_sealed(unchained)
    operators.check_sealed(document)


@pytest.mark.parametrize("operator", catalogue.operators())
def test_every_operator_is_chained(operator: str) -> None:
    assert catalogue.definition(operator).chain
    for preset in catalogue.presets(operator):
        documents.check(catalogue.benchmark_document(operator, preset))
