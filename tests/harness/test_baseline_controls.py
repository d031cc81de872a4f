"""The baseline is what it was sealed as: the same as itself, and as long as calibrated."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.verdict.controls import baseline_band, same_code
from benchmarks.verdict.verdicts import recompute
from tests.harness.samples import made_record, replicate_entry, workload_entry
from tests.harness.softmax import Document, softmax_benchmark

ROUNDS = [(200.0, 100.0), (202.0, 100.0), (198.0, 99.0)]


def _pair(ratio: float) -> dict[str, Any]:
    rounds = [
        {"first": "baseline", "baseline_us": 200.0 * ratio * noise, "candidate_us": 200.0}
        for noise in (1.0, 1.001, 0.999, 1.0005)
    ]
    return {"same_code": {"name": "wide", "calls": 4, "overhead_us": 50.0, "rounds": rounds}}


def _paced(*paces: float) -> list[dict[str, Any]]:
    """Replicates whose baseline's processes differ by these factors."""
    return [
        replicate_entry(workload_entry("wide", [(pace * b, c) for b, c in ROUNDS]))
        for pace in paces
    ]


def test_baseline_against_itself_must_hold_one() -> None:
    document = softmax_benchmark(replicates=3, max_replicates=3)
    alike = _paced(1.0, 1.001, 0.999)
    sound = made_record(alike, document=document, seen=_pair(1.0))
    assert same_code.judge(sound).passed is True
    told_apart = made_record(alike, document=document, seen=_pair(1.05))
    assert same_code.judge(told_apart).passed is False
    summary = recompute(told_apart)
    assert summary.verdict == "invalid"
    assert "control 'same code on both sides' failed" in summary.reasons[0]
    assert summary.ratio is None


@pytest.mark.parametrize(
    "left",
    [None, {"rounds": 2}, {"name": "another"}],
    ids=["no pair", "rounds left out", "of no workload"],
)
def test_a_pair_that_is_not_as_the_benchmark_asks_makes_the_run_invalid(
    left: dict[str, Any] | None,
) -> None:
    document = softmax_benchmark(replicates=3, max_replicates=3, aa_rounds=4)
    seen = _pair(1.0)
    if left is None:
        seen["same_code"] = None
    else:
        pair = seen["same_code"]
        pair["name"] = left.get("name", pair["name"])
        pair["rounds"] = pair["rounds"][: left.get("rounds", 4)]
    alike = [replicate_entry(workload_entry("wide", ROUNDS))] * 3
    record = made_record(alike, document=document, seen=seen)
    assert record["summary"]["verdict"] == "invalid"
    assert "asks for 4 rounds of one workload" in record["summary"]["reasons"][0]


def test_a_pair_is_allowed_what_the_baselines_own_processes_differ_by() -> None:
    document = softmax_benchmark(replicates=3, max_replicates=3)
    differing = _paced(1.0, 1.04, 0.97)
    made = made_record(differing, document=document, seen=_pair(1.05))
    assert same_code.judge(made).passed is True


def test_an_aa_pair_of_one_replicate_is_uninformative() -> None:
    control = same_code.judge(
        made_record([replicate_entry(workload_entry("wide", ROUNDS))], seen=_pair(1.05))
    )
    assert control.passed is None
    assert "one replicate" in control.detail


def test_a_baseline_outside_its_calibrated_band_is_invalid_slower_or_faster() -> None:
    for calibrated, passed in ((200.0, True), (150.0, False), (260.0, False)):
        document = softmax_benchmark()
        document["calibration"] = {
            "baseline_us": {"wide": calibrated},
            "band": 0.1,
            "device": "A processor",
        }
        control = baseline_band.judge(_calibrated(document))
        assert control.passed is passed, control.detail
    assert baseline_band.judge(_calibrated(softmax_benchmark())).passed is None


def test_the_control_compares_what_calibration_stores() -> None:
    # A fifth of the rounds took longer: the medians, which calibration stores, did not.
    rounds = [(200.0, 100.0)] * 4 + [(280.0, 100.0)]
    document = softmax_benchmark(rounds=5)
    document["calibration"] = {
        "baseline_us": {"wide": 200.0},
        "band": 0.05,
        "device": "A processor",
    }
    made = [replicate_entry(workload_entry("wide", rounds))]
    assert baseline_band.judge(made_record(made, document=document)).passed is True
    document["protocol"]["rules"] = 1
    assert baseline_band.judge(made_record(made, document=document)).passed is False


def test_a_baseline_calibrated_on_another_device_is_no_control() -> None:
    document = softmax_benchmark()
    document["calibration"] = {
        "baseline_us": {"wide": 200.0},
        "band": 0.1,
        "device": "Another processor",
    }
    summary = recompute(_calibrated(document))
    assert summary.verdict == "invalid"
    assert "calibrated on Another processor, measured on A processor" in summary.reasons[0]


def _calibrated(document: Document) -> dict[str, Any]:
    return made_record([replicate_entry(workload_entry("wide", ROUNDS))], document=document)
