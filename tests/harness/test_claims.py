"""A claim's verdict follows from signed records, and from nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.published import claims, reports
from benchmarks.published.claims import Claim
from benchmarks.published.committed import Signature
from benchmarks.published.reports import Report
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


def _result(load: str, us: float | str | None) -> dict[str, Any]:
    """Some microseconds, or the note that says why there are none."""
    note, time_us = (us, None) if isinstance(us, str) else ("", us)
    low, high = (time_us and time_us * 0.9), (time_us and time_us * 1.1)
    times = {"median_us": time_us, "low_us": low, "high_us": high}
    return {"workload": load, "level": "operator", "note": note, **times}


def _surveyed(
    times: Mapping[str, tuple[float | str | None, float | str | None]],
    *,
    valid: bool = True,
    digest: str = "one",
) -> Report:
    """A record beside a survey in which each Solution took so long, by workload: long, short."""
    survey = {
        "digest": digest,
        "workloads": [{"name": "long", "weight": 3.0}, {"name": "short", "weight": 1.0}],
        "solutions": [
            {"name": name, "results": [_result("long", long), _result("short", short)]}
            for name, (long, short) in times.items()
        ],
    }
    signature = Signature(valid=valid, key_id="0" * 16, words="")
    return replace(_report(1.0, 1.1), survey=survey, survey_signature=signature)


TILED = _claim(figure="operator", ratio=2.0, faster="tiled", slower="naive")


@pytest.mark.parametrize(
    ("tiled", "naive", "verdict"),
    [
        ((10.0, 10.0), (30.0, 30.0), "holds"),
        # 2.1 times, and at their worst 1.7.
        ((10.0, 10.0), (21.0, 21.0), "does not hold"),
        ((10.0, 10.0), (28.0, 5.0), "holds under conditions"),
        ((10.0, None), (30.0, 10.0), "not measured"),
        ((10.0, "not tried: out of time"), (30.0, 10.0), "not measured"),
        # Not made for the short ones, which is a condition.
        ((10.0, "not available: multiples of 8"), (30.0, 10.0), "holds under conditions"),
        ((10.0, "not available: multiples of 8"), (15.0, 10.0), "does not hold"),
        (("not available: no", "not available: no"), (15.0, 10.0), "not measured"),
    ],
)
def test_one_solution_over_another_is_judged_by_a_survey(
    tiled: tuple[float | str, float | str | None], naive: tuple[float, float], verdict: str
) -> None:
    found = _surveyed({"tiled": tiled, "naive": naive})
    assert claims.judged(TILED, [found]).verdict == verdict


def test_the_survey_says_how_much_and_on_what() -> None:
    found = _surveyed({"tiled": (10.0, 20.0), "naive": (40.0, 20.0)})
    judged = claims.judged(TILED, [found, found])
    assert judged.measured == ["tiled over naive, NVIDIA H200: 2.80x (2.29 to 3.42)"]
    # Not again for the workloads of a survey that shows it as a whole.
    assert judged.where == ["tiled over naive, NVIDIA H200"]


def test_a_claim_about_what_is_not_made_for_every_size_says_at_how_many_it_was_measured() -> None:
    found = _surveyed({"tiled": (10.0, "not available: multiples of 8"), "naive": (40.0, 20.0)})
    judged = claims.judged(TILED, [found])
    assert judged.measured == [
        "tiled over naive, NVIDIA H200, 1 of 2 workloads: 4.00x (3.27 to 4.89)"
    ]


def test_no_survey_none_signed_and_none_with_both_is_not_measured() -> None:
    both = {"tiled": (10.0, 10.0), "naive": (30.0, 30.0)}
    for found in (
        _report(2.1, 2.3),
        _surveyed(both, valid=False),
        _surveyed({"tiled": (10.0, 10.0)}),
    ):
        assert claims.judged(TILED, [found]).verdict == "not measured"


def test_solutions_that_are_claimed_about_are_the_operators() -> None:
    for claim in claims.claims():
        assert bool(claim.faster) == bool(claim.slower)
        if claim.faster:
            known = {*catalogue.baselines(claim.operator), *catalogue.candidates(claim.operator)}
            assert {claim.faster, claim.slower} <= known


def test_what_the_committed_survey_says_of_triton_and_cuda_is_judged() -> None:
    [claim] = [one for one in claims.claims() if one.faster == "cuda_add"]
    judged = claims.judged(claim, reports.reports(operators=["vector_add"]))
    assert judged.verdict == "holds"


def test_every_claim_names_an_operator_of_the_catalogue_or_none() -> None:
    found = claims.claims()
    assert len(found) > 8
    assert {claim.operator for claim in found} - {""} <= set(catalogue.operators())
    assert all(claim.says and claim.source and claim.ratio >= 1 for claim in found)
