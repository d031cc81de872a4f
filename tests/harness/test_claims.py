"""A claim's verdict follows from signed records, and from nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.harness import claims
from benchmarks.harness.claims import Claim
from benchmarks.harness.committed import Signature
from benchmarks.harness.reports import Report
from kernels import catalogue


def _claim(**changed: Any) -> Claim:
    said = {
        "source": "a text",
        "author": "",
        "says": "2x",
        "about": "an operator",
        "operator": "vector_add",
        "figure": "program",
        "holds": "at_least",
        "ratio": 2.0,
    }
    return Claim(**{**said, **changed})


def _report(low: float, high: float, *, valid: bool = True, workloads: tuple = ()) -> Report:
    middle = (low + high) / 2
    return Report(
        operator="vector_add",
        name="h200",
        preset="h200",
        device="NVIDIA H200",
        dtype="bfloat16",
        candidate="triton_add",
        baseline="torch_add",
        verdict="met",
        reasons=[],
        target=2.0,
        ratio=middle,
        low=low,
        high=high,
        confidence=0.95,
        operator_ratio=3.0,
        roofline_share=None,
        considered=[],
        strongest=None,
        against_strongest=None,
        signature=Signature(valid=valid, key_id="0" * 16, words=""),
        survey_signature=None,
        current=True,
        command="",
        measured_at="",
        record={
            "operator": None,
            "summary": {
                "workloads": [
                    {"name": name, "ratio": each, "low": each, "high": each}
                    for name, each in workloads
                ]
            },
        },
        survey=None,
    )


@pytest.mark.parametrize(
    ("reports", "verdict"),
    [
        ([], "not measured"),
        ([_report(2.1, 2.3)], "holds"),
        ([_report(1.9, 2.3)], "does not hold"),
        ([_report(2.1, 2.3, valid=False)], "not measured"),
        ([_report(2.1, 2.3), _report(1.1, 1.2)], "holds under conditions"),
        (
            [_report(1.5, 1.6, workloads=(("long", 2.5), ("short", 1.0)))],
            "holds under conditions",
        ),
        ([_report(1.5, 1.6, workloads=(("long", 1.9), ("short", 1.0)))], "does not hold"),
    ],
)
def test_a_verdict_is_computed_from_the_intervals(reports: list[Report], verdict: str) -> None:
    assert claims.judged(_claim(), reports).verdict == verdict


def test_the_conditions_are_named() -> None:
    report = _report(1.5, 1.6, workloads=(("long", 2.5), ("short", 1.0)))
    assert claims.judged(_claim(), [report]).where == ["long, over torch_add"]


def test_a_claim_that_little_is_won_holds_when_the_whole_interval_is_below() -> None:
    at_most = _claim(holds="at_most", ratio=1.08)
    assert claims.judged(at_most, [_report(1.01, 1.05)]).verdict == "holds"
    assert claims.judged(at_most, [_report(1.05, 1.10)]).verdict == "does not hold"


def test_the_operator_alone_is_another_figure_than_the_program() -> None:
    assert claims.judged(_claim(figure="operator"), [_report(1.1, 1.2)]).verdict == "holds"


def test_every_claim_names_an_operator_of_the_catalogue_or_none() -> None:
    found = claims.claims()
    assert len(found) > 8
    assert {claim.operator for claim in found} - {""} <= set(catalogue.operators())
    assert all(claim.says and claim.source and claim.ratio >= 1 for claim in found)
