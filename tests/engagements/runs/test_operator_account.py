"""How the operator's own speedup becomes the step's, in words."""

from __future__ import annotations

import pytest

from engagements.runs import operator_account
from tests.engagements.charts import measured


def entry(**changed: object) -> dict[str, object]:
    return {
        "name": "32x32768",
        "baseline_us": 960.0,
        "candidate_us": 73.0,
        "ratio": 13.1,
        "flops": 1.7e10,
        "bytes": 2.7e8,
        "ceiling_shares": {"candidate": {"bandwidth": 0.88, "arithmetic": 0.3}},
        "account": {
            "share_of_baseline_step": 0.85,
            "predicted_ratio": 5.01,
            "measured_ratio": 5.06,
            "unexplained": 0.01,
        },
        **changed,
    }


def record_with(*entries: dict[str, object]) -> dict[str, object]:
    return {**measured.record(), "operator": {"workloads": list(entries)}}


def test_the_sentence_has_share_prediction_measurement_and_remainder() -> None:
    (row,) = operator_account.alone(record_with(entry()))
    assert row.sentence == (
        "32x32768: the operator is 85% of the baseline's step and runs 13.10× as fast, so the "
        "step should run 5.01× as fast; it was measured at 5.06×, 1.0% more than "
        "predicted."
    )


def test_a_step_slower_than_predicted_has_a_negative_difference() -> None:
    account = {
        "share_of_baseline_step": 0.85,
        "predicted_ratio": 5.01,
        "measured_ratio": 4.91,
        "unexplained": -0.02,
    }
    (row,) = operator_account.alone(record_with(entry(account=account)))
    assert "2.0% less than" in row.sentence


@pytest.mark.parametrize(
    ("unexplained", "said"),
    [(0.01, "1.0% more than predicted"), (0.0001, ""), (None, "")],
)
def test_what_the_account_leaves_over_is_said_by_itself(
    unexplained: float | None, said: str
) -> None:
    account = {
        "share_of_baseline_step": 0.85,
        "predicted_ratio": 5.01,
        "measured_ratio": 5.06,
        "unexplained": unexplained,
    }
    (row,) = operator_account.alone(record_with(entry(account=account)))
    assert row.beyond == said


@pytest.mark.parametrize("missing", ["account", "ceiling_shares"])
def test_what_was_not_measured_stays_none(missing: str) -> None:
    (row,) = operator_account.alone(record_with(entry(**{missing: None})))
    known = {"account": row.sentence != "", "ceiling_shares": row.bandwidth_share is not None}
    assert known == {"account": missing != "account", "ceiling_shares": missing != "ceiling_shares"}


def test_a_record_without_the_operator_has_no_account() -> None:
    assert operator_account.alone(measured.record(with_operator=False)) == []


@pytest.mark.parametrize(("unexplained", "is_said"), [(0.15, True), (-0.02, False), (None, False)])
def test_a_step_faster_than_predicted_is_explained(
    unexplained: float | None, is_said: bool
) -> None:
    account = {"unexplained": unexplained}
    rows = operator_account.alone(record_with(entry(account=account)))
    assert bool(operator_account.excess(rows)) == is_said
