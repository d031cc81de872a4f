"""The estimator of adjacent pairs: load that both sides share changes nothing."""

from __future__ import annotations

import random
from typing import Any

import pytest

from benchmarks.harness.runs import environment
from benchmarks.records import documents
from benchmarks.verdict.verdicts import recompute
from kernels import catalogue, protocols
from tests.harness.samples import made_record, replicate_entry, workload_entry
from tests.harness.softmax import softmax_benchmark


def _under_load(ratio: float, *, estimator: str, seed: int) -> dict[str, Any]:
    """Three processes on a machine whose load doubles or halves between pairs of rounds."""
    draw = random.Random(seed)
    replicates = []
    for _ in range(3):
        loads = [draw.choice([1.0, 1.2, 2.0]) for _ in range(12)]
        rounds = [
            (1000 * load * draw.gauss(1, 0.03), 1000 / ratio * load * draw.gauss(1, 0.03))
            for load in loads
        ]
        replicates.append(replicate_entry(workload_entry("wide", rounds)))
    document = softmax_benchmark(
        replicates=3, max_replicates=3, rounds=12, checked_calls=1, estimator=estimator, rules=2
    )
    return made_record(replicates, document={**document, "target": 2.0})


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("ratio", "verdict"), [(3.5, "met"), (1.3, "missed")])
def test_a_changing_load_leaves_a_clear_verdict(ratio: float, verdict: str, seed: int) -> None:
    summary = recompute(_under_load(ratio, estimator="adjacent_pairs", seed=seed))
    assert summary.verdict == verdict
    assert summary.ratio == pytest.approx(ratio, rel=0.06)


def test_a_benchmark_says_how_many_cores_it_leaves_to_others() -> None:
    document = catalogue.benchmark_document("shared_prefix_attention", "cpu")
    documents.check(document)
    assert document["protocol"]["spare_cores"] == protocols.CPU.spare_cores == 1
    assert environment.threads(document["protocol"]) == max(1, environment.cores() - 1)
    assert environment.threads({}) == environment.cores()
