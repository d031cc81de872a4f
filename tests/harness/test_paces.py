"""What a candidate could do to the baseline's rounds in time of its own, and by heat."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.verdict import clocks, consistency
from benchmarks.verdict.controls import parts
from benchmarks.verdict.verdicts import recompute
from tests.harness.samples import made_record, replicate_entry, workload_entry
from tests.harness.softmax import softmax_benchmark

ROUNDS = [(206.0, 100.0), (205.0, 100.0), (207.0, 100.0)]
CUDA = {"kind": "cuda", "name": "A GPU", "memory_bytes": 1 << 34}


def _columns(sm_mhz: int, power_w: float, memory_mhz: int = 2600) -> dict[str, Any]:
    return {
        "sm_mhz": [sm_mhz] * 3,
        "memory_mhz": [memory_mhz] * 3,
        "power_w": [power_w] * 3,
        "temperature_c": [60] * 3,
        "throttle": [0] * 3,
    }


def _record(
    beside: dict[str, Any] | None = None, *, parts_us: float = 100.0, **sealed: Any
) -> dict[str, Any]:
    """2.06x of a target of 2x; the baseline's own clocks are 1980 and 2600 MHz."""
    document = softmax_benchmark(
        device="cuda",
        target=2.0,
        aa_rounds=3,
        round_ms=20.0,
        replicates=2,
        max_replicates=2,
        **sealed,
    )
    document["target"] = 2.0
    entry = workload_entry("wide", ROUNDS, calls=40)
    entry["telemetry"] = {
        "baseline": beside or _columns(1980, 500.0),
        "candidate": _columns(1980, 600.0),
    }
    entry["parts"] = {"calls": 10, "baseline": [205.0] * 3, "candidate": [100.0, 100.0, parts_us]}
    alone = {"baseline": _columns(1980, 510.0), "candidate": _columns(1980, 510.0)}
    rounds = [
        {"first": "baseline", "baseline_us": 205.0 + each, "candidate_us": 206.0}
        for each in (0, 1, 2)
    ]
    pair = {"name": "wide", "calls": 40, "overhead_us": 50.0, "rounds": rounds, "telemetry": alone}
    made = made_record(
        [replicate_entry(entry)] * 2, document=document, device=CUDA, seen={"same_code": pair}
    )
    assert consistency.problems(made) == []
    return made


@pytest.mark.parametrize(
    ("beside", "verdict"),
    [
        (_columns(1980, 500.0), "met"),
        (_columns(1965, 500.0), "met"),
        (_columns(1800, 500.0), "inconclusive"),
        (_columns(1980, 500.0, memory_mhz=2400), "inconclusive"),
        # A power draw alone says nothing: the instrument's mean holds both sides' rounds.
        (_columns(1980, 300.0), "met"),
    ],
    ids=["as by itself", "one step lower", "lower", "memory lower", "less power"],
)
def test_a_baseline_clocked_lower_beside_the_candidate_makes_no_met(
    beside: dict[str, Any], verdict: str
) -> None:
    summary = recompute(_record(beside))
    assert summary.verdict == verdict, summary.reasons


def test_lower_clocks_turn_no_miss_into_anything_else() -> None:
    record = _record()
    record["benchmark"]["target"] = 3.0
    assert recompute(record).verdict == "missed"
    for replicate in record["replicates"]:
        replicate["workloads"][0]["telemetry"]["baseline"] = _columns(1500, 500.0)
    assert recompute(record).verdict == "missed"


def test_the_record_shows_clocks_and_power_beside_the_candidate_and_itself() -> None:
    record = _record(_columns(1965, 480.0))
    paces = clocks.of_baseline(record)
    assert paces is not None
    assert (paces.beside_candidate.power_w, paces.beside_itself.power_w) == (480.0, 510.0)
    (steady,) = [each for each in record["controls"] if each["name"] == "steady clocks"]
    assert "1965 MHz and 480 W beside the candidate" in steady["detail"]


def test_quarter_rounds_that_last_longer_than_their_share_make_the_run_invalid() -> None:
    assert parts.judge(_record()).passed is True
    # One of three was interrupted for a tenth of a millisecond a call.
    assert parts.judge(_record(parts_us=200.0)).passed is True
    spent = _record(parts_us=500.0)
    assert parts.judge(spent).passed is False
    assert recompute(spent).verdict == "invalid"
    assert recompute(_record(parts_us=500.0, rules=2)).verdict == "met"
