"""The control on rounds of one call: who gains from having a round's calls at hand."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.verdict import consistency
from benchmarks.verdict.controls import one_by_one
from benchmarks.verdict.verdicts import recompute
from tests.harness.samples import made_record, replicate_entry, workload_entry
from tests.harness.softmax import Measure, softmax_benchmark

ROUNDS = [(2000.0, 1000.0), (2010.0, 1000.0), (1990.0, 1000.0)]
CUDA = {"kind": "cuda", "name": "A GPU", "memory_bytes": 1 << 34, "cache_bytes": 1 << 20}


def _record(baseline_us: list[float], candidate_us: list[float]) -> dict[str, Any]:
    entry = workload_entry("wide", ROUNDS)
    entry["single"] = {"baseline": baseline_us, "candidate": candidate_us}
    document = softmax_benchmark(device="cuda", round_ms=20.0)
    # Of calls that do not depend on each other.
    del document["definition"]["chain"]
    return made_record([replicate_entry(entry)], device=CUDA, document=document)


def test_a_call_that_takes_as_long_by_itself_passes() -> None:
    control = one_by_one.judge(_record([2050.0] * 5, [1060.0, 1055.0, 1100.0, 1058.0, 1061.0]))
    assert control.passed is True
    assert "1,060.0 us by itself" in control.detail


def test_what_the_baseline_gains_as_well_is_allowed() -> None:
    # 900 us, of which 1.3 times.
    control = one_by_one.judge(_record([2900.0] * 5, [2200.0] * 5))
    assert control.passed is True


def test_calls_that_are_worked_on_together_fail_and_make_the_run_invalid() -> None:
    # Little beside the 500 us that were forgiven once.
    record = _record([2050.0] * 5, [1200.0] * 5)
    control = one_by_one.judge(record)
    assert control.passed is False
    assert "it works on several calls at once" in control.detail
    summary = recompute(record)
    assert summary.verdict == "invalid"
    assert any("one call at a time" in reason for reason in summary.reasons)


def test_disturbed_rounds_are_no_evidence() -> None:
    control = one_by_one.judge(_record([2050.0] * 5, [1055.0, 9000.0, 1058.0, 9000.0, 1060.0]))
    assert control.passed is True


def test_benchmarks_sealed_before_forgive_half_a_millisecond() -> None:
    record = _record([2050.0] * 5, [1550.0] * 5)
    record["benchmark"]["protocol"]["rules"] = 3
    assert one_by_one.judge(record).passed is True


def test_a_record_without_such_rounds_says_so_and_stays_readable() -> None:
    record = made_record([replicate_entry(workload_entry("wide", ROUNDS))], device=CUDA)
    assert one_by_one.judge(record).passed is None
    assert consistency.problems(record) == []


@pytest.mark.alone
def test_a_run_measures_them_and_a_processor_says_nothing_by_them(
    measure: Measure,
) -> None:
    document = softmax_benchmark(held_back_shapes=0)
    del document["definition"]["chain"]
    record = measure("honest", document=document)
    (workload,) = record["replicates"][0]["workloads"]
    assert {side: len(us) for side, us in workload["single"].items()} == {
        "baseline": one_by_one.ROUNDS,
        "candidate": one_by_one.ROUNDS,
    }
    assert one_by_one.judge(record).passed is None
