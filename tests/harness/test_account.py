"""The control on Amdahl's account: a step gains no more than its operator explains."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.harness.failures import ROLES
from benchmarks.harness.runs import referee
from benchmarks.harness.runs.candidates import Candidate
from benchmarks.harness.runs.progress import Progress
from benchmarks.records import records
from benchmarks.records.canonical import canonical
from benchmarks.verdict import consistency
from benchmarks.verdict.controls import account
from tests.harness.samples import made_record, replicate_entry, workload_entry
from tests.harness.softmax import lookup_benchmark, softmax_benchmark

CUDA = {"kind": "cuda", "name": "A GPU", "memory_bytes": 1 << 34, "cache_bytes": 1 << 20}
LOOKUP = """
import torch

def prepare(state, axes):
    return state["table"]

def run(table, inputs, out):
    torch.index_select(table, 0, inputs["ids"], out=out["out"])
"""
STEP = [(200.0, 100.0), (202.0, 100.0), (198.0, 99.0)]


def _pair(baseline_us: float, candidate_us: float, slot: int = 0) -> dict[str, Any]:
    times = {"first": "baseline", "baseline_us": baseline_us, "candidate_us": candidate_us}
    return {"name": "wide", "slot": slot, "calls": 4, "overhead_us": 9.0, "rounds": [times] * 3}


def _record(
    pairs: list[dict[str, Any]] | None,
    *,
    calls: tuple[int, ...] = (2,),
    device: str = "cuda",
    rest_us: float | None = None,
) -> dict[str, Any]:
    slots = [{"axes": {"rows": 8, "columns": 64}, "calls": each} for each in calls]
    cost = {"name": "wide", "operator_calls": sum(calls), "slots": slots, "flops": 1.0, "bytes": 1}
    document = softmax_benchmark(device=device, round_ms=20.0, account_margin=0.05)
    document["protocol"] |= {"operator_rounds": 3, "rules": 3 if rest_us is None else 4}
    rest = None if rest_us is None else [_pair(rest_us + 1.0, rest_us)]
    return made_record(
        [replicate_entry(workload_entry("wide", STEP))],
        document=document,
        device=CUDA if device == "cuda" else None,
        seen={"operator": pairs, "costs": [cost], "rest": rest},
    )


def test_a_gain_that_the_operator_explains_passes() -> None:
    # Two calls of 60 us in a step of 200 us, each 50 us quicker: 2x, as measured.
    record = _record([_pair(60.0, 10.0)])
    assert account.judge(record).passed is True
    assert record["summary"]["ratio"] is not None
    assert consistency.problems(records.load(canonical(record))) == []


def test_a_gain_beyond_the_operators_makes_the_run_invalid() -> None:
    record = _record([_pair(60.0, 60.0)])
    assert account.judge(record).passed is False
    assert record["summary"]["verdict"] == "invalid"
    assert any(account.NAME in reason for reason in record["summary"]["reasons"])


def test_scatter_of_the_candidates_operator_rounds_widens_nothing() -> None:
    pair = _pair(60.0, 60.0)
    # Five times as slow in one round: its fastest round counts.
    pair["rounds"] = [*pair["rounds"], {**pair["rounds"][0], "candidate_us": 300.0}]
    assert account.judge(_record([pair])).passed is False


def test_every_shape_of_the_step_is_counted() -> None:
    # One shape explains 20 us of the 100 that were saved, and both explain all of them.
    both = [_pair(30.0, 20.0, slot=0), _pair(60.0, 20.0, slot=1)]
    record = _record(both, calls=(2, 2))
    assert account.judge(record).passed is True
    (alone,) = record["operator"]["workloads"]
    assert alone["account"]["operator_calls"] == 4
    assert alone["baseline_us"] == 45.0


def test_a_shape_that_was_not_measured_leaves_the_account_open() -> None:
    assert account.judge(_record([_pair(60.0, 60.0)], calls=(2, 2))).passed is None
    assert account.judge(_record(None)).passed is None


def test_the_rest_of_the_step_counts_as_measured_around_an_empty_slot() -> None:
    # Two calls of 10 us beside 80 us explain 2x, whatever the baseline's operator takes alone.
    assert account.judge(_record([_pair(15.0, 10.0)], rest_us=80.0)).passed is True
    assert account.judge(_record([_pair(60.0, 10.0)], rest_us=95.0)).passed is False


def test_a_rest_that_was_not_measured_leaves_the_account_open() -> None:
    record = _record([_pair(60.0, 60.0)], rest_us=80.0)
    record["observations"]["rest"] = None
    assert account.judge(record).passed is None


def test_on_a_processor_the_step_gains_at_most_what_the_operator_does() -> None:
    # The operator's share is not comparable there: 3x alone allows 2x, and 1.5x does not.
    assert account.judge(_record([_pair(3.0, 1.0)], device="cpu")).passed is True
    assert account.judge(_record([_pair(3.0, 2.0)], device="cpu")).passed is False


def test_records_from_before_the_margin_are_judged_without() -> None:
    record = _record([_pair(60.0, 60.0)])
    del record["benchmark"]["protocol"]["account_margin"]
    assert account.NAME not in {each["name"] for each in consistency.seal(record)["controls"]}


def test_a_run_measures_the_rest_by_the_baselines_code_on_both_sides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As on a GPU.
    monkeypatch.setattr(account, "counts_rest", lambda record: True)
    candidate = Candidate(name="lookup", filename="lookup.py", source=LOOKUP)
    document = lookup_benchmark(
        rounds=2, round_ms=5.0, max_calls=4, held_back_shapes=0, operator_rounds=2
    )
    record = referee.run(
        document,
        candidate,
        device_kind="cpu",
        command="python -m benchmarks.harness run b.json lookup.py",
        progress=Progress(document, shown=False),
    )
    (rest,) = record["observations"]["rest"]
    (step,) = record["replicates"][0]["workloads"]
    assert rest["calls"] == step["calls"]
    assert len(rest["rounds"]) == 2
    # The projection is there, and takes its time.
    assert min(pair[f"{side}_us"] for pair in rest["rounds"] for side in ROLES) > 0
    assert consistency.problems(records.load(canonical(record))) == []
