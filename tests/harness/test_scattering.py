"""A candidate cannot scatter its way out of `missed`, and honest ones lose nothing by that."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.precision.simulations import scattering
from benchmarks.precision.simulations.scattering import PRESETS, Case
from benchmarks.verdict import consistency
from benchmarks.verdict.statistics.estimates import estimate
from benchmarks.verdict.verdicts import recompute
from tests.harness.samples import made_record, replicate_entry, workload_entry
from tests.harness.softmax import softmax_benchmark

RUNS = 150
# What chance allows beside a share of 2.5%.
MOST = 0.025 + 3 * math.sqrt(0.025 * 0.975 / RUNS)
# The first preset in `make test`, all in `make soak`.
IN_SOAK = [
    pytest.param(preset, marks=[pytest.mark.soak] if number else [])
    for number, preset in enumerate(PRESETS)
]


@pytest.mark.parametrize("preset", IN_SOAK)
@pytest.mark.parametrize("between", [0.002, 0.02])
def test_one_process_in_five_twelve_times_slower_is_missed(preset: str, between: float) -> None:
    case = Case(preset=preset, ratio=1.0, between=between, candidate=between, slow=0.2)
    before, after = (scattering.simulated(case, rules=rules, runs=RUNS) for rules in (1, 2))
    assert before.inconclusive > 0.1
    assert (after.missed, after.holds_target, after.met) == (1, 0, 0)


@pytest.mark.parametrize("preset", IN_SOAK)
@pytest.mark.parametrize("ratio", [1.98, 2.0, 2.02])
def test_a_candidate_that_scatters_more_than_the_baseline_is_judged_as_before(
    preset: str, ratio: float
) -> None:
    case = Case(preset=preset, ratio=ratio, between=0.005, candidate=0.015)
    before, after = (scattering.simulated(case, rules=rules, runs=RUNS) for rules in (1, 2))
    assert after == before
    if ratio < 2:
        assert after.met <= MOST / 2
    elif ratio > 2:
        assert after.missed <= MOST / 2
    else:
        assert after.met <= MOST
        assert after.missed <= MOST


def test_one_slow_process_of_five_does_not_make_a_miss_inconclusive() -> None:
    document = softmax_benchmark(replicates=5, max_replicates=5)
    slow = [1.0, 1.0, 12.0, 1.001, 0.999]
    made = [replicate_entry(workload_entry("wide", [(100.0, 100 * pace)] * 3)) for pace in slow]
    before = {**document, "protocol": {**document["protocol"], "rules": 1}}
    assert recompute(made_record(made, document=before)).verdict == "inconclusive"
    record = made_record(made, document=document)
    summary = recompute(record)
    assert summary.verdict == "missed"
    assert summary.ratio == pytest.approx(0.3125, rel=1e-3)
    assert summary.high == pytest.approx(100 / 99.9)
    assert consistency.problems(record) == []


def test_the_baselines_own_scatter_reaches_beyond_the_quickest_process() -> None:
    times = ((90, 50), (100, 50), (110, 600))
    samples = {"a": [(np.full(3, b), np.full(3, c)) for b, c in times]}
    found = estimate(samples, {"a": 1.0}, confidence=0.95).overall
    scatter = 0.1 * math.sqrt(1 + 1 / 3)
    assert found.high == pytest.approx(100 / 50 * math.exp(4.302652729 * scatter))
    assert found.high < estimate(samples, {"a": 1.0}, confidence=0.95, bounded=False).overall.high


def test_the_table_is_that_of_the_readme() -> None:
    readme = (scattering.README).read_text()
    for case in scattering.CASES:
        assert f"| {case.preset} | {case.ratio:.2f} | {case.between:.1%} |" in readme
