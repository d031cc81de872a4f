"""Check 3: few shapes carry the traffic, and they stay."""

from __future__ import annotations

import pytest

from engagements.audit.rules import Finding, Outcome, Thresholds, stable
from engagements.audit.rules.stable import ShapeFigures
from tests.engagements.audit.inputs import inputs, seen, traffic


def conditions(finding: Finding) -> dict[str, bool | None]:
    assert isinstance(finding.figures, ShapeFigures)
    names = ("covered", "effective", "drift")
    return {name: each.holds for name, each in zip(names, finding.figures.conditions, strict=True)}


def test_two_shapes_that_stay_are_stable() -> None:
    facts = traffic((1, 128, 10.0), (1, 128, 10.0), (8, 128, 40.0), times=500)
    finding = stable.find(inputs(traffic=seen(facts)))
    assert finding.outcome == Outcome.PASS
    assert finding.value == 1.0
    assert "In effect 1.9 shapes" in finding.paragraph
    assert finding.sentence.startswith("2 shapes carry 100% of your traffic")


def test_a_fat_tail_is_not() -> None:
    # 100 lengths, equally frequent: 16 of them cover 16%.
    facts = traffic(*((1, 100 + number, 10.0) for number in range(100)), times=10)
    finding = stable.find(inputs(traffic=seen(facts)))
    assert finding.outcome == Outcome.FAIL
    assert finding.value == pytest.approx(0.16)
    assert conditions(finding)["covered"] is False
    assert "Only 16 shapes carry 16% of your traffic" in finding.sentence


def test_a_tail_that_is_rare_but_slow_counts_by_its_time() -> None:
    # One shape has 97% of the calls; 30 slow ones, one call a round each, take most of the time.
    slow = [(64, 1000 + number, 300.0) for number in range(30)]
    facts = traffic(*[(1, 128, 1.0)] * 970, *slow)
    finding = stable.find(inputs(traffic=seen(facts)))
    assert finding.outcome == Outcome.FAIL
    # 970 + 15 x 300 of 970 + 30 x 300 microseconds lie in the 16 shapes with the most time.
    assert finding.value == pytest.approx((970 + 15 * 300) / (970 + 9000), abs=0.09)


def test_shapes_that_changed_in_the_middle_of_the_log_drift() -> None:
    facts = traffic(*[(1, 128, 1.0)] * 600, *[(2, 128, 1.0)] * 600)
    finding = stable.find(inputs(traffic=seen(facts)))
    assert finding.outcome == Outcome.FAIL
    assert conditions(finding) == {"covered": True, "effective": True, "drift": False}
    assert "100% of it changed shape" in finding.sentence


def test_a_short_log_decides_nothing() -> None:
    finding = stable.find(inputs(traffic=seen(traffic((1, 128, 1.0), times=999))))
    assert finding.outcome == Outcome.UNKNOWN
    assert finding.to_collect


def test_the_lines_are_adjustable() -> None:
    facts = traffic(*((1, 100 + number, 10.0) for number in range(100)), times=10)
    lines = Thresholds(counted_shapes=64, covered_share=0.6, effective_shapes=128)
    finding = stable.find(inputs(traffic=seen(facts), thresholds=lines))
    assert finding.outcome == Outcome.PASS
    assert finding.threshold == 0.6


def test_without_traffic_it_is_unknown() -> None:
    finding = stable.find(inputs())
    assert finding.outcome == Outcome.UNKNOWN
    assert "register_forward_pre_hook" in (finding.to_collect[0].command or "")
