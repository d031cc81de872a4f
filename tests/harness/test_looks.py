from __future__ import annotations

import math

import pytest

from benchmarks.precision.simulations.interim_looks import simulated
from benchmarks.verdict.statistics import interim
from benchmarks.verdict.verdicts import look, recompute
from tests.harness.samples import made_record, replicate_entry, workload_entry
from tests.harness.softmax import softmax_benchmark

PROTOCOL = {"replicates": 4, "max_replicates": 8, "look_every": 2}


def test_the_looks_spend_exactly_the_sealed_error() -> None:
    for protocol in (
        PROTOCOL,
        {"replicates": 4, "max_replicates": 7, "look_every": 2},
        {"replicates": 3, "max_replicates": 3, "look_every": 2},
        {"replicates": 1, "max_replicates": 9, "look_every": 1},
    ):
        schedule = interim.schedule(protocol)
        assert schedule[0] == protocol["replicates"]
        assert schedule[-1] == protocol["max_replicates"]
        spent = sum(1 - interim.confidence_at(protocol, each, 0.95) for each in schedule)
        assert spent == pytest.approx(0.05)


def test_there_is_no_look_off_the_schedule() -> None:
    assert interim.schedule(PROTOCOL) == [4, 6, 8]
    with pytest.raises(ValueError, match="no look after 5"):
        interim.confidence_at(PROTOCOL, 5, 0.95)


def test_a_candidate_at_its_target_is_called_met_no_more_often_than_it_may_be() -> None:
    runs = 1200
    found = simulated(runs, between=0.01, within=0.001, ratio=2.0, seed=5)
    may = 0.025 + 3 * math.sqrt(0.025 * 0.975 / runs)
    assert found.met <= may
    assert found.missed <= may
    # What the rule is there for: looking again without it errs twice as often.
    assert found.met_unadjusted + found.missed_unadjusted > 0.07
    assert found.holds >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / runs)


def _replicates(*paces: float) -> list[dict[str, object]]:
    return [replicate_entry(workload_entry("wide", [(150.0 * pace, 100.0)] * 3)) for pace in paces]


def test_a_run_that_went_on_after_a_verdict_is_invalid() -> None:
    document = softmax_benchmark(replicates=2, max_replicates=4, look_every=2)
    sure = made_record(_replicates(1.2, 1.2001), document=document)
    assert recompute(sure).verdict == "met"
    fished = made_record(_replicates(0.8, 0.8001, 1.9, 1.9001), document=document)
    assert recompute(fished).verdict == "invalid"
    assert "the run went on after 2 replicates had said 'missed'" in recompute(fished).reasons[0]


def test_the_reported_interval_is_that_of_the_last_look() -> None:
    document = softmax_benchmark(replicates=2, max_replicates=4, look_every=2)
    record = made_record(_replicates(0.9, 1.1, 0.98, 1.02), document=document)
    summary = recompute(record)
    assert summary.confidence == 0.95
    assert [each["confidence"] for each in summary.looks] == pytest.approx([0.975, 0.975])
    assert (summary.low, summary.high) == (look(record, 4).low, look(record, 4).high)
    assert summary.verdict == "inconclusive"


def test_a_count_off_the_schedule_is_invalid() -> None:
    document = softmax_benchmark(replicates=2, max_replicates=4, look_every=2)
    summary = recompute(made_record(_replicates(0.9, 1.1, 1.0), document=document))
    assert summary.verdict == "invalid"
    assert summary.reasons[0] == "3 replicates, and the benchmark asks for 2 or 4"
