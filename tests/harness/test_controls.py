"""Each control fires where something is wrong, says why where it is not measured."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from benchmarks.harness.devices.telemetry import Reading
from benchmarks.records import records
from benchmarks.records.canonical import canonical
from benchmarks.verdict import consistency
from benchmarks.verdict.controls import ecc, exclusive, roofline, same_code, steadiness, working_set
from benchmarks.verdict.verdicts import recompute
from tests.harness.samples import made_record, replicate_entry, workload_entry
from tests.harness.softmax import Document, Measure, softmax_benchmark

GPU = {"kind": "cuda", "name": "A GPU", "memory_bytes": 1 << 36, "cache_bytes": 1 << 20}
CEILINGS = {"copy_bytes_per_s": 4e12, "matmul_flops_per_s": {"float32": 5e13, "bfloat16": 7e14}}
ROUNDS = [(200.0, 100.0), (202.0, 100.0), (198.0, 99.0)]
STEADY: dict[str, list[float]] = {
    "sm_mhz": [1980, 1980, 1965],
    "memory_mhz": [3201] * 3,
    "power_w": [600.0] * 3,
    "temperature_c": [60, 61, 61],
    "throttle": [0, 4, 0],
}


def _record(
    *, entry: dict[str, Any] | None = None, document: Document | None = None, **made: Any
) -> dict[str, Any]:
    return made_record(
        [replicate_entry(entry or workload_entry("wide", ROUNDS))], document=document, **made
    )


def _gpu(**readings: Any) -> dict[str, Any]:
    seen = {"why_not": None, "idle_percent": 0, "foreign_processes": None, "ecc_uncorrected": None}
    return {"gpu": {**seen, **readings}}


def _on_gpu(**made: Any) -> dict[str, Any]:
    document = made.pop("document", None) or softmax_benchmark(device="cuda", round_ms=20.0)
    return _record(document=document, device=GPU, **made)


def _cost(**changed: float) -> dict[str, Any]:
    cost = {"name": "wide", "operator_calls": 2, "flops": 1e9, "bytes": 1e8, **changed}
    return {"costs": [cost]}


def test_faster_than_the_machine_is_invalid() -> None:
    # Two calls of 1e8 bytes at 4e12 B/s and a quarter more: 40 us.
    assert roofline.judge(_on_gpu(ceilings=CEILINGS, seen=_cost())).passed is True
    quick = workload_entry("wide", [(200.0, 39.0)] * 3)
    control = roofline.judge(_on_gpu(entry=quick, ceilings=CEILINGS, seen=_cost()))
    assert control.passed is False
    assert "the candidate took 39.0 us, the floor is 40.0 us" in control.detail
    # Arithmetic: at the fastest rate of any dtype, since a candidate may use tensor cores.
    heavy = _on_gpu(ceilings=CEILINGS, seen=_cost(flops=5e10, bytes=1.0))
    assert roofline.judge(heavy).passed is False
    # In eight bits it is quicker still, and no cheat.
    rates = {**CEILINGS["matmul_flops_per_s"], "int8": 1.4e15}
    eight = {**CEILINGS, "matmul_flops_per_s": rates}
    heavy = _on_gpu(ceilings=eight, seen=_cost(flops=5e10, bytes=1.0))
    assert roofline.judge(heavy).passed is True


def test_bytes_that_fit_the_cache_give_no_floor() -> None:
    small = _on_gpu(
        entry=workload_entry("wide", [(20.0, 1.0)] * 3),
        ceilings=CEILINGS,
        seen=_cost(bytes=4e6, flops=1.0),
    )
    assert roofline.judge(small).passed is True


def test_there_is_no_floor_without_ceilings_or_on_a_processor() -> None:
    assert roofline.judge(_record(ceilings=CEILINGS, seen=_cost())).passed is None
    assert roofline.judge(_on_gpu(seen=_cost())).passed is None


def test_a_working_set_that_fits_the_cache_is_said() -> None:
    entry = workload_entry("wide", ROUNDS)
    assert working_set.judge(_record(entry=entry)).passed is None
    assert "1.0 times the cache" in working_set.judge(_on_gpu(entry=entry)).detail
    entry["working_set_bytes"] = 3 << 20
    assert working_set.judge(_on_gpu(entry=entry)).passed is True


@pytest.mark.parametrize(
    ("readings", "passed"),
    [
        ({"foreign_processes": [0, 0]}, True),
        ({"foreign_processes": [0, 1]}, False),
        ({"foreign_processes": [0, 0], "idle_percent": 40}, False),
        ({"idle_percent": 40}, False),
        ({}, None),
        ({"why_not": "nvidia-ml-py is not installed", "idle_percent": None}, None),
    ],
)
def test_a_foreign_process_on_the_gpu_makes_the_run_invalid(
    readings: dict[str, Any], passed: bool | None
) -> None:
    control = exclusive.judge(_on_gpu(seen=_gpu(**readings)))
    assert control.passed is passed, control.detail
    assert control.detail


@pytest.mark.parametrize(
    ("counted", "passed"), [([0, 0], True), ([3, 3], True), ([0, 1], False), (None, None)]
)
def test_an_uncorrected_memory_error_makes_the_run_invalid(
    counted: list[int] | None, passed: bool | None
) -> None:
    assert ecc.judge(_on_gpu(seen=_gpu(ecc_uncorrected=counted))).passed is passed


def _watched(**side: list[int]) -> dict[str, Any]:
    """Eight rounds, of which the candidate's second is three times as slow."""
    rounds = [(200.0 + i, 100.0) for i in range(8)]
    rounds[1] = (200.0, 130.0)
    entry = workload_entry("wide", rounds)
    steady = {name: [values[0]] * 8 for name, values in STEADY.items()}
    entry["telemetry"] = {"baseline": dict(steady), "candidate": {**steady, **side}}
    document = softmax_benchmark(device="cuda", round_ms=20.0, rounds=8)
    return _on_gpu(entry=entry, document=document, seen=_gpu())


def test_a_round_on_slowed_hardware_is_discarded_with_its_pair() -> None:
    summary = recompute(_watched(throttle=[0, 0x40, 0, 0, 0, 0, 0, 0]))
    assert summary.verdict == "met"
    assert summary.workloads[0]["candidate_us"] == pytest.approx(100.0)
    assert "1 of 8 rounds discarded: unsteady clocks" in summary.reasons


def test_a_round_whose_clock_fell_out_of_its_band_is_discarded_with_its_pair() -> None:
    low = recompute(_watched(sm_mhz=[1980, 1500, *[1980] * 6]))
    assert low.workloads[0]["candidate_us"] == pytest.approx(100.0)
    near = recompute(_watched(sm_mhz=[1980, 1900, *[1980] * 6]))
    assert near.workloads[0]["candidate_us"] == pytest.approx(830 / 8)


def test_a_power_cap_is_the_kernels_own_doing() -> None:
    summary = recompute(_watched(throttle=[4] * 8))
    assert summary.workloads[0]["candidate_us"] == pytest.approx(830 / 8)


def test_the_rule_reads_both_sides_alike() -> None:
    of_candidate = _watched(throttle=[0, 8, 0, 0, 0, 0, 0, 0])
    of_baseline = copy.deepcopy(of_candidate)
    telemetry = of_baseline["replicates"][0]["workloads"][0]["telemetry"]
    telemetry["baseline"], telemetry["candidate"] = telemetry["candidate"], telemetry["baseline"]
    assert recompute(of_baseline).ratio == recompute(of_candidate).ratio


def test_too_many_discarded_rounds_make_the_run_invalid() -> None:
    record = _watched(throttle=[8, 8, 8, 0, 0, 0, 0, 0])
    assert steadiness.judge(record).passed is False
    assert "hardware slowdown" in steadiness.judge(record).detail
    assert recompute(record).verdict == "invalid"
    assert steadiness.judge(_watched()).passed is True
    assert steadiness.judge(_on_gpu(seen=_gpu())).passed is None


def test_controls_are_recomputed_with_the_verdict() -> None:
    record = _on_gpu(seen=_gpu(ecc_uncorrected=[0, 1]))
    assert [control["passed"] for control in record["controls"]].count(False) == 1
    changed = copy.deepcopy(record)
    for control in changed["controls"]:
        control["passed"] = True
    assert any(problem.startswith("controls[") for problem in consistency.problems(changed))


@dataclass
class Instruments:
    """A GPU that tells what a test likes."""

    readings: Reading = field(
        default_factory=lambda: Reading(
            sm_mhz=1980, memory_mhz=3201, power_w=500.0, temperature_c=50, throttle=0
        )
    )
    ecc: list[int] = field(default_factory=lambda: [0, 0])
    busy_percent: int = 0

    def read(self) -> Reading:
        return self.readings

    def ecc_uncorrected(self) -> int | None:
        return self.ecc.pop(0)

    def processes(self) -> list[int] | None:
        return None

    def utilization_percent(self) -> int | None:
        return self.busy_percent


def test_controls_judge_the_readings_of_the_instruments(
    measure: Measure,
) -> None:
    sick = Instruments(ecc=[0, 2], busy_percent=60)
    sick.readings = replace(sick.readings, throttle=0x80)
    measured = measure("honest", telemetry=sick)
    (workload,) = measured["replicates"][0]["workloads"]
    assert workload["telemetry"]["candidate"]["throttle"] == [0x80] * 3
    # No control judges rounds that a busy machine made hardly longer than empty ones.
    steady = {"first": "baseline", "baseline_us": 60.0, "candidate_us": 60.0}
    workload |= {"overhead_us": 0.0, "rounds": [steady] * 3}
    record = consistency.seal(measured)
    failed = [control["name"] for control in record["controls"] if control["passed"] is False]
    # A busy machine may fail others.
    assert {exclusive.NAME, steadiness.NAME, ecc.NAME} <= set(failed)
    assert record["summary"]["verdict"] == "invalid"
    assert consistency.problems(records.load(canonical(record))) == []


@pytest.mark.soak
@pytest.mark.alone
def test_a_baseline_that_differs_between_the_sides_fails_a_control(measure: Measure) -> None:
    record = measure("honest", baseline="lopsided", aa_rounds=6)
    pair = record["observations"]["same_code"]
    assert len(pair["rounds"]) == 6
    # Sixteen times the work on one side. The quickest round of each, and the control over quiet
    # replicates: what a busy machine does to a few rounds is no claim about the referee.
    quickest = {side: min(r[side] for r in pair["rounds"]) for side in pair["rounds"][0]}
    assert quickest["candidate_us"] > 3 * quickest["baseline_us"]
    pair["rounds"] = [{**quickest, "first": "baseline"}] * 12
    quiet = [replicate_entry(workload_entry("wide", ROUNDS))] * 3
    document = softmax_benchmark(replicates=3, max_replicates=3)
    judged = made_record(quiet, document=document, seen={"same_code": pair})
    assert same_code.judge(judged).passed is False
    assert judged["summary"]["verdict"] == "invalid"


@pytest.mark.alone
def test_an_honest_run_holds_the_evidence_and_fails_no_control(honest_record: Document) -> None:
    record = honest_record
    assert not any(control["passed"] is False for control in record["controls"])
    assert record["environment"]["ceilings"]["copy_bytes_per_s"] > 0
    (alone,) = record["observations"]["operator"]
    assert (alone["name"], len(alone["rounds"])) == ("wide", 4)
    assert len(record["observations"]["same_code"]["rounds"]) == 8
    assert consistency.problems(records.load(canonical(record))) == []


def test_amdahls_account_joins_the_operator_to_the_step() -> None:
    times = {"first": "baseline", "baseline_us": 60.0, "candidate_us": 20.0}
    pair = {"name": "wide", "calls": 4, "overhead_us": 50.0, "rounds": [times] * 3}
    seen = {"operator": [pair], **_cost()}
    record = _record(
        entry=workload_entry("wide", [(200.0, 100.0)] * 3), ceilings=CEILINGS, seen=seen
    )
    (alone,) = record["operator"]["workloads"]
    assert alone["ratio"] == pytest.approx(3.0)
    # Two calls of 60 us in a step of 200 us; with 20 us each it should take 120 us, and took 100.
    account = alone["account"]
    assert account["share_of_baseline_step"] == pytest.approx(0.6)
    assert account["predicted_ratio"] == pytest.approx(200 / 120)
    assert account["measured_ratio"] == pytest.approx(2.0)
    assert account["unexplained"] == pytest.approx(0.2)
    # 1e8 bytes in 20 us are 5e12 a second, of 4e12 that a copy reaches.
    assert alone["ceiling_shares"]["candidate"]["bandwidth"] == pytest.approx(1.25)
    assert alone["ceiling_shares"]["candidate"]["arithmetic"] == pytest.approx(1.0)
