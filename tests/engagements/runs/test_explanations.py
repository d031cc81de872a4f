"""The confidence of an interval, in the same sentence wherever it is shown."""

from typing import Any

import pytest

from benchmarks.verdict.explanations import details, level, shown_level
from engagements.runs.explanations import confidence

MEASURED = {"low": 2.1, "high": 2.4, "confidence": 0.95}


@pytest.mark.parametrize(
    ("looks", "shown"),
    [
        ([], ["95%"]),
        ([{"confidence": 0.95}], ["95%"]),
        ([{"confidence": 0.9833}], ["98.3%", "95%"]),
    ],
)
def test_the_sentence_names_the_sealed_confidence_and_that_of_the_look(
    looks: list[dict[str, Any]], shown: list[str]
) -> None:
    summary = MEASURED | {"looks": looks}
    text = confidence(summary)
    assert all(each in text for each in shown)
    assert shown_level(level(summary) or 0) == shown[0]


def test_the_details_leave_out_what_the_reason_says() -> None:
    said = ["2.3x, 95% interval 2.1 to 2.4: all of it above", "3 of 36 rounds left out"]
    assert details(MEASURED | {"reasons": said}) == said[1:]
    assert details({"low": None, "reasons": said}) == said


def test_a_run_without_an_interval_has_no_confidence() -> None:
    assert confidence({"low": None, "confidence": 0.95}) == ""
