"""Check 5: hours that come back every month against people who have them."""

from __future__ import annotations

import datetime as dt

import pytest

from engagements.audit.rules import Outcome, maintain
from engagements.audit.rules.maintain import UpkeepFigures
from engagements.evidence.readers.questions import Generation, Generations
from tests.engagements.audit.inputs import TODAY, answered, inputs, team

NEXT_SPRING = TODAY + dt.timedelta(days=300)


def generations(*known: tuple[str, dt.date | None]) -> Generations:
    return Generations(
        generations=tuple(Generation(name=name, planned_on=day) for name, day in known)
    )


def test_the_hours_are_the_sources_list() -> None:
    # 40 h for a new architecture a year, 2 of debugging, 3 of measuring: 40/12 + 5.
    finding = maintain.find(inputs(maintainers=team(9)))
    assert finding.threshold == pytest.approx(40 / 12 + 5)
    assert finding.outcome == Outcome.PASS


@pytest.mark.parametrize(("hours", "outcome"), [(0, "fail"), (8, "fail"), (8.4, "pass")])
def test_hours_that_are_too_few_fail(hours: float, outcome: str) -> None:
    assert maintain.find(inputs(maintainers=team(hours))).outcome == outcome


def test_planned_generations_are_counted_and_those_in_use_measured() -> None:
    planned = generations(("H100", None), ("H200", None), ("B200", NEXT_SPRING))
    finding = maintain.find(inputs(maintainers=team(9), generations=answered(planned)))
    assert isinstance(finding.figures, UpkeepFigures)
    hours = {task.name: task.hours_a_month for task in finding.figures.tasks}
    assert hours == {
        "new architectures": pytest.approx(40 / 12),
        "numerical debugging": 2.0,
        "remeasuring": 6.0,
    }
    assert finding.outcome == Outcome.FAIL


def test_a_generation_after_next_year_is_not_this_years_work() -> None:
    later = generations(("H200", None), ("Rubin", TODAY + dt.timedelta(days=800)))
    finding = maintain.find(inputs(maintainers=team(5), generations=answered(later)))
    assert (finding.threshold, finding.outcome) == (5.0, "pass")


def test_nobody_asked_is_unknown() -> None:
    finding = maintain.find(inputs())
    assert finding.outcome == Outcome.UNKNOWN
    assert finding.to_collect[0].what.startswith("The maintainers")
