from __future__ import annotations

import copy
from typing import Any

import pytest

from benchmarks.verdict.verdicts import Summary, recompute
from tests.harness.samples import made_record, replicate_entry, twice_as_fast, workload_entry
from tests.harness.softmax import softmax_benchmark


def _verdict(rounds: list[tuple[float, float]]) -> str:
    return recompute(made_record([replicate_entry(workload_entry("wide", rounds))])).verdict


def test_met_needs_the_whole_interval_at_or_above_the_target() -> None:
    assert _verdict([(150.0, 100.0)] * 3) == "met"
    assert _verdict([(149.0, 100.0)] * 3) == "missed"
    assert _verdict([(120.0, 100.0), (150.0, 100.0), (190.0, 100.0)]) == "inconclusive"


def test_a_summary_says_what_it_rests_on() -> None:
    summary = recompute(twice_as_fast())
    assert summary.ratio == pytest.approx(600 / 299)
    assert summary.low is not None
    assert summary.ratio is not None
    assert summary.high is not None
    assert summary.low <= summary.ratio <= summary.high
    assert (summary.replicates, summary.rounds, summary.calls_checked) == (1, 3, 40)
    assert summary.detection == "a candidate wrong on 10% of calls is caught with 98.52%"
    assert summary.workloads[0]["baseline_us"] == pytest.approx(200.0)


def test_a_caught_candidate_is_disqualified_and_its_times_count_for_nothing() -> None:
    finding = {
        "kind": "probe",
        "side": "candidate",
        "replicate": 0,
        "workload": "wide",
        "message": "the candidate answered early",
    }
    record = made_record(twice_as_fast()["replicates"], findings=[finding])
    summary = recompute(record)
    assert summary.verdict == "disqualified"
    assert summary.reasons == ("the candidate answered early",)
    assert summary.ratio is summary.low is summary.high is None
    assert summary.workloads[0]["ratio"] is None


def test_a_wrong_baseline_makes_the_run_invalid() -> None:
    finding = {
        "kind": "output",
        "side": "baseline",
        "replicate": 0,
        "workload": "wide",
        "message": "the baseline gave a wrong result",
    }
    assert recompute(made_record([], findings=[finding])).verdict == "invalid"


def _invalid(record: dict[str, Any]) -> str:
    summary = recompute(record)
    assert summary.verdict == "invalid"
    assert summary.ratio is None
    return "; ".join(summary.reasons)


def test_another_device_than_the_sealed_one_is_invalid() -> None:
    record = twice_as_fast()
    record["benchmark"]["hardware"]["name"] = "NVIDIA H200"
    assert "the benchmark names NVIDIA H200" in _invalid(record)
    record["benchmark"]["hardware"]["device"] = "cuda"
    assert "the benchmark names cuda" in _invalid(record)


def test_another_version_of_the_baselines_package_is_invalid() -> None:
    document = softmax_benchmark()
    document["baseline"]["version"] = "2.13.0"
    record = twice_as_fast()
    made = {**record, "benchmark": document}
    assert recompute(made).verdict == record["summary"]["verdict"]
    document["baseline"]["version"] = "2.14.0"
    assert _invalid(made) == "measured with torch 2.13.0, and the benchmark names torch 2.14.0"
    made["environment"]["packages"] = {}
    assert "measured with no torch" in _invalid(made)


def test_samples_that_were_left_out_are_missed() -> None:
    sound = twice_as_fast()
    fewer_rounds = copy.deepcopy(sound)
    fewer_rounds["replicates"][0]["workloads"][0]["rounds"].pop()
    assert "2 rounds, and the benchmark asks for 3" in _invalid(fewer_rounds)
    assert "0 replicates" in _invalid({**sound, "replicates": []})
    assert "2 replicates" in _invalid({**sound, "replicates": sound["replicates"] * 2})
    renamed = copy.deepcopy(sound)
    renamed["replicates"][0]["workloads"][0]["name"] = "easy"
    assert "exactly the benchmark's workloads" in _invalid(renamed)


def test_too_few_checks_are_invalid() -> None:
    record = twice_as_fast()
    record["replicates"][0]["workloads"][0]["checks"]["calls_checked"] = 11
    assert "fewer calls were checked" in _invalid(record)


def test_a_round_no_longer_than_an_empty_one_is_invalid() -> None:
    record = made_record([replicate_entry(workload_entry("wide", [(5.0, 1.0), (5.0, -0.2)] * 2))])
    record["benchmark"]["protocol"]["rounds"] = 4
    assert "longer round_ms" in _invalid(record)


def test_every_replicate_counts() -> None:
    document = softmax_benchmark(replicates=2, max_replicates=3)
    fast = replicate_entry(workload_entry("wide", [(300.0, 100.0)] * 3))
    slow = replicate_entry(workload_entry("wide", [(100.0, 100.0)] * 3))
    summary = recompute(made_record([fast, slow], document=document))
    assert summary.ratio == pytest.approx(2.0)
    assert summary.verdict == "inconclusive"


def test_an_interrupted_round_is_left_out_with_its_pair_and_counted() -> None:
    document = softmax_benchmark(rounds=8)
    rounds = [(300.0, 100.0)] * 7 + [(300.0, 5000.0)]
    summary = recompute(
        made_record([replicate_entry(workload_entry("wide", rounds))], document=document)
    )
    assert summary.ratio == pytest.approx(3.0)
    assert summary.verdict == "met"
    assert summary.reasons[1] == "1 of 8 rounds left out as interrupted"


def test_no_verdict_comes_out_of_noise() -> None:
    document = softmax_benchmark(rounds=8)
    rounds = [(300.0, 100.0)] * 5 + [(300.0, 5000.0)] * 3

    def judged(rules: int) -> Summary:
        sealed = {**document, "protocol": {**document["protocol"], "rules": rules}}
        return recompute(
            made_record([replicate_entry(workload_entry("wide", rounds))], document=sealed)
        )

    assert judged(2).verdict == judged(1).verdict == "inconclusive"
    assert "the quietest pairs of rounds are 3.000x" in judged(2).reasons[1]
    assert judged(1).reasons[-1] == "the machine was too busy for a verdict"
