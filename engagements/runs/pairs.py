"""The decision of an acceptance run by its measurements: one, or one by each party.

Pure functions. Where both parties measure, a request decides only if both verdicts are the same and
their intervals overlap. tests/engagements/runs/test_pairs.py walks the table.

    one side                    other side                   decision
    crashed                     crashed                      crashed
    failed, crashed             any other                    failed
    invalid                     any but failed               invalid
    inconclusive for noise      met, missed, inconclusive    inconclusive for noise
    disqualified                disqualified                 disqualified
    any other                   the same, intervals overlap  that verdict
    any other                   anything else                disagreed
"""

from __future__ import annotations

from typing import NamedTuple

from django.db import models

from benchmarks.models import Record, Run, Verdict
from benchmarks.records.failure_codes import OF_CANDIDATE
from benchmarks.verdict.explanations import is_noise


class Decision(models.TextChoices):
    """The decision of an acceptance run's measurements: a verdict, or none."""

    MET = Verdict.MET.value, "Met"
    MISSED = Verdict.MISSED.value, "Missed"
    INCONCLUSIVE = Verdict.INCONCLUSIVE.value, "Inconclusive"
    INVALID = Verdict.INVALID.value, "Invalid"
    DISQUALIFIED = Verdict.DISQUALIFIED.value, "Disqualified"
    DISAGREED = "disagreed", "Disagreed"
    CRASHED = "crashed", "Crashed"
    FAILED = "failed", "Failed"


class Measured(NamedTuple):
    """One measurement: its verdict, CRASHED or FAILED, and its interval.

    CRASHED: the candidate's own process ended it. `is_noise`: inconclusive for noise.
    """

    decision: Decision
    low: float | None = None
    high: float | None = None
    is_noise: bool = False


def measured_by(run: Run, target: float) -> Measured:
    """The measurement of a concluded run, against the contract's target."""
    record: Record | None = getattr(run, "record", None)
    if record is None:
        crashed = run.failure_code in OF_CANDIDATE
        return Measured(Decision.CRASHED if crashed else Decision.FAILED)
    return Measured(
        Decision(record.verdict),
        record.low,
        record.high,
        is_noise(record.verdict, record.low, record.high, target),
    )


def of_both(house: Measured, customer: Measured) -> Measured:
    """Decide by the consultancy's measurement, whose interval it has, and the customer's."""
    return house._replace(
        decision=_decision(house, customer), is_noise=house.is_noise or customer.is_noise
    )


def _decision(house: Measured, customer: Measured) -> Decision:
    found = {house.decision, customer.decision}
    if found == {Decision.CRASHED}:
        return Decision.CRASHED
    if Decision.CRASHED in found:
        return Decision.FAILED
    for undecided in (Decision.FAILED, Decision.INVALID):
        if undecided in found:
            return undecided
    if house.is_noise or customer.is_noise:
        is_caught = Decision.DISQUALIFIED in found
        return Decision.DISAGREED if is_caught else Decision.INCONCLUSIVE
    if found == {Decision.DISQUALIFIED}:
        return Decision.DISQUALIFIED
    is_same = len(found) == 1 and overlap(house, customer)
    return house.decision if is_same else Decision.DISAGREED


def overlap(one: Measured, other: Measured) -> bool:
    """Whether both have an interval, and these overlap."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.low <= other.high and other.low <= one.high
