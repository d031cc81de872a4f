"""The candidate may be as imprecise as the baseline, and a sealed factor more."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.verdict import consistency
from tests.harness.samples import made_record, replicate_entry, workload_entry
from tests.harness.softmax import Document, Measure, softmax_benchmark

ROUNDS = [(200.0, 100.0), (202.0, 100.0), (198.0, 99.0)]
BASELINE = 1e-6


def _document(program: float | None = 1.35, operator: float | None = 2.2) -> Document:
    document = softmax_benchmark(replicates=2, max_replicates=2)
    document["definition"]["tolerances"]["float32"]["rms_factor"] = program
    document["tolerance"]["rms_factor"] = program
    alone = {**document["tolerance"], "rms_factor": operator}
    document["definition"]["operator_tolerances"] = {"float32": alone}
    return document | {"operator_tolerance": alone}


def _sides(candidate: float | None, baseline: float = BASELINE) -> dict[str, Any]:
    return {"candidate": {"y": candidate}, "baseline": {"y": baseline}}


def _made(
    *steps: float | None, alone: float = BASELINE, document: Document | None = None
) -> dict[str, Any]:
    made = []
    for error in steps:
        entry = workload_entry("wide", ROUNDS)
        entry["checks"]["rms"] = _sides(error)
        made.append(replicate_entry(entry))
    rounds = [{"first": "baseline", "baseline_us": 200.0, "candidate_us": 100.0}] * 3
    pair = {"name": "wide", "calls": 4, "overhead_us": 50.0, "rounds": rounds}
    seen = {"operator": [pair | {"rms": _sides(alone)}]}
    return made_record(made, document=document or _document(), seen=seen)


@pytest.mark.parametrize(
    ("steps", "alone", "caught"),
    [
        ((1.3 * BASELINE,) * 2, 2.1 * BASELINE, False),
        ((1.4 * BASELINE,) * 2, BASELINE, True),
        ((1.0 * BASELINE, 3.0 * BASELINE), BASELINE, True),
        ((BASELINE,) * 2, 2.3 * BASELINE, True),
        ((None, BASELINE), BASELINE, True),
    ],
    ids=["within", "the step", "in one replicate", "the operator alone", "infinite"],
)
def test_a_less_precise_candidate_is_disqualified(
    steps: tuple[float, ...], alone: float, caught: bool
) -> None:
    record = _made(*steps, alone=alone)
    assert (record["summary"]["verdict"] == "disqualified") is caught, record["summary"]["reasons"]
    assert consistency.problems(record) == []
    assert ("RMS error" in record["summary"]["reasons"][0]) is caught


def test_benchmarks_from_before_the_factor_compare_nothing() -> None:
    document = _document(None, None)
    assert _made(1.0, 1.0, alone=1.0, document=document)["summary"]["verdict"] == "met"


def test_an_exact_baseline_leaves_room_for_a_rounding() -> None:
    record = _made(BASELINE, BASELINE)
    for replicate in record["replicates"]:
        replicate["workloads"][0]["checks"]["rms"] = _sides(2.0**-25, baseline=0.0)
    assert consistency.seal(record)["summary"]["verdict"] == "met"
    for replicate in record["replicates"]:
        replicate["workloads"][0]["checks"]["rms"] = _sides(2.0**-23, baseline=0.0)
    assert consistency.seal(record)["summary"]["verdict"] == "disqualified"


@pytest.mark.alone
def test_both_sides_errors_are_in_the_record(measure: Measure) -> None:
    record = measure("honest")
    errors = record["replicates"][0]["workloads"][0]["checks"]["rms"]
    assert 0 < errors["baseline"]["y"] < 1e-5
    assert errors["candidate"]["y"] == pytest.approx(errors["baseline"]["y"], rel=1)
