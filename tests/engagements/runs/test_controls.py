"""What speaks for a run itself, in words for both parties."""

from __future__ import annotations

import re

import pytest

from engagements.runs import controls
from tests.engagements.charts import measured

CEILINGS = {"copy_bytes_per_s": 4.012e12, "matmul_flops_per_s": {"bfloat16": 7.123e14}}


def test_every_control_has_its_outcome_in_words() -> None:
    record = measured.record()
    found = controls.of(record)
    assert [each.name for each in found.controls] == [c["name"] for c in record["controls"]]
    words = {True: "held", False: "failed", None: "not measured"}
    for story, control in zip(found.controls, record["controls"], strict=True):
        assert story.outcome == words[control["passed"]]
        assert story.detail.replace("×", "x") == control["detail"]
    # The page folds those that were not measured.
    assert {each.passed for each in found.measured} <= {True, False}
    assert {each.passed for each in found.unmeasured} <= {None}
    assert len(found.measured) + len(found.unmeasured) == len(found.controls)


def test_a_speedup_in_a_control_has_the_sign_that_pages_and_papers_write() -> None:
    record = measured.record()
    record["controls"][0]["detail"] = "Baseline against baseline on 16x8192: 1.0080x."
    story = controls.of(record).controls[0].detail
    assert story == "Baseline against baseline on 16x8192: 1.0080×."


def test_a_run_that_ended_early_has_no_controls() -> None:
    assert controls.of(measured.disqualified()).controls == []


def test_excluded_rounds_are_shown_with_their_reason() -> None:
    record = measured.record()
    rounds = record["replicates"][0]["workloads"][0]["rounds"]
    before = controls.of(record).excluded
    rounds[0]["candidate_us"] *= 50
    assert "1 interrupted" in controls.of(record).excluded
    assert before.startswith("All ")
    assert controls.of({**record, "replicates": []}).excluded == ""


@pytest.mark.parametrize(
    ("ceilings", "rates"),
    [
        (CEILINGS, ["4,012 GB/s", "712 TFLOP/s"]),
        (
            {**CEILINGS, "matmul_flops_per_s": {"bfloat16": 7.123e14, "int8": 1.5e15}},
            ["4,012 GB/s", "712 TFLOP/s", "1,500 TOP/s"],
        ),
        (None, []),
    ],
)
def test_limits_are_the_rates_measured_in_the_run(
    ceilings: dict[str, object] | None, rates: list[str]
) -> None:
    limits = controls.of(measured.record(ceilings=ceilings)).limits
    assert re.findall(r"[\d,]+ (?:GB/s|TFLOP/s|TOP/s)", limits) == rates
