"""Check 1: the share of wall-clock time, and what is hot where the GPU waits."""

from __future__ import annotations

import pytest

from engagements.audit.rules import Finding, Operator, Outcome, Thresholds, hot
from engagements.audit.rules.hot import HotFigures
from engagements.evidence.readers.questions import TailLatency
from tests.engagements.audit.inputs import answered, attention_step, inputs, seen, stated, step
from tests.engagements.evidence.traces import captured

ATTENTION = Operator(kind="family", name="attention")


def figures(finding: Finding) -> HotFigures:
    assert isinstance(finding.figures, HotFigures)
    return finding.figures


def test_most_of_a_gpu_that_mostly_waits_is_not_hot() -> None:
    # 60% of the busy time, in a step in which the GPU waits 95% of the time: 3% of the clock.
    facts = step(("flash_fwd", 0.0, 30.0), ("sm90_gemm", 30.0, 20.0))
    finding = hot.find(inputs(trace=seen(facts), operator=ATTENTION))
    assert finding.outcome == Outcome.FAIL
    assert finding.value == pytest.approx(0.03)
    assert figures(finding).share_of_gpu == pytest.approx(0.6)
    assert figures(finding).gpu_idle_share == pytest.approx(0.95)
    assert "3% of your time" in finding.sentence
    assert "The GPU waits 95% of the time" in finding.sentence


def test_where_the_gpu_is_busy_the_finding_names_the_operator_that_is_hot() -> None:
    finding = hot.find(inputs(trace=seen(attention_step(0.04)), operator=ATTENTION))
    assert finding.outcome == Outcome.FAIL
    assert finding.sentence.endswith("matrix product, at 96%.")


@pytest.mark.parametrize(("share", "outcome"), [(0.0499, "fail"), (0.05, "pass"), (0.9, "pass")])
def test_five_percent_is_the_line(share: float, outcome: str) -> None:
    finding = hot.find(inputs(trace=seen(attention_step(share)), operator=ATTENTION))
    assert finding.outcome == outcome
    assert finding.evidence[0].digest == "sha256:" + "ab" * 32


def test_overlap_is_counted_once() -> None:
    facts = step(("flash_a", 0.0, 400.0), ("flash_b", 200.0, 400.0))
    finding = hot.find(inputs(trace=seen(facts), operator=ATTENTION))
    assert finding.value == pytest.approx(0.6)


def test_the_line_may_be_drawn_elsewhere() -> None:
    lines = Thresholds(least_share=0.2)
    finding = hot.find(
        inputs(trace=seen(attention_step(0.1)), operator=ATTENTION, thresholds=lines)
    )
    assert (finding.outcome, finding.threshold) == ("fail", 0.2)


@pytest.mark.parametrize(
    ("share", "tail", "outcome"),
    [
        (0.10, None, "pass"),
        (0.06, None, "fail"),
        (0.06, TailLatency(percentile=99, target_ms=50, measured_ms=80), "pass"),
        (0.06, TailLatency(percentile=99, target_ms=50, measured_ms=40), "fail"),
        (0.06, TailLatency(percentile=99, target_ms=50), "unknown"),
        (0.01, TailLatency(percentile=99, target_ms=50, measured_ms=80), "fail"),
    ],
)
def test_the_stricter_test_asks_for_a_tenth_or_a_tail_that_is_missed(
    share: float, tail: TailLatency | None, outcome: str
) -> None:
    known = {"tail_latency": answered(tail)} if tail else {}
    finding = hot.find(inputs(trace=seen(attention_step(share)), operator=ATTENTION, **known))
    assert figures(finding).stricter.outcome == outcome


def test_the_hottest_family_is_taken_where_nobody_chose() -> None:
    finding = hot.find(inputs(trace=seen(attention_step(0.3))))
    assert figures(finding).operator == "matrix product"
    assert "No operator was chosen" in finding.paragraph


def test_a_pattern_that_was_not_summed_is_bounded_by_what_the_summary_knows() -> None:
    facts = step(("flash_a", 0.0, 40.0), ("flash_b", 20.0, 40.0), ("gemm", 60.0, 800.0))
    both = Operator(kind="pattern", name="both", pattern="flash_[ab]")
    finding = hot.find(inputs(trace=seen(facts), operator=both))
    assert figures(finding).share_of_wall.low == pytest.approx(0.06)
    assert figures(finding).share_of_wall.high == pytest.approx(0.08)
    lines = Thresholds(least_share=0.07)
    between = hot.find(inputs(trace=seen(facts), operator=both, thresholds=lines))
    assert between.outcome == Outcome.UNKNOWN
    assert between.to_collect


def test_a_pattern_of_no_kernel_is_unknown_and_not_cold() -> None:
    typo = Operator(kind="pattern", name="falsh", pattern="falsh")
    finding = hot.find(inputs(trace=seen(attention_step(0.86)), operator=typo))
    assert finding.outcome == Outcome.UNKNOWN
    assert "no kernel of falsh" in finding.paragraph
    assert finding.to_collect


def test_without_a_profile_it_is_unknown_and_says_what_to_record() -> None:
    finding = hot.find(inputs())
    assert finding.outcome == Outcome.UNKNOWN
    assert (finding.to_collect[0].command or "").startswith("nsys profile")


def test_a_profile_without_gpu_events_is_unknown() -> None:
    finding = hot.find(inputs(trace=seen(captured("host_only.trace.json.gz"))))
    assert finding.outcome == Outcome.UNKNOWN
    assert "ProfilerActivity.CUDA" in (finding.to_collect[0].command or "")


def test_a_stated_share_counts_where_nothing_is_measured_and_is_questioned() -> None:
    finding = hot.find(inputs(share=stated(0.4)))
    assert (finding.outcome, finding.shown) == ("pass", "40%")
    assert "wall-clock" in finding.questions[0]


def test_the_profile_leads_and_contradicts_the_pitch() -> None:
    finding = hot.find(
        inputs(share=stated(0.4), trace=seen(attention_step(0.02)), operator=ATTENTION)
    )
    assert finding.outcome == Outcome.FAIL
    assert "the profile shows 2%" in finding.questions[0]


def test_of_the_waiting_gpu_the_host_is_what_is_hot() -> None:
    finding = hot.find(inputs(trace=seen(captured("idle_gpu.trace.json.gz"))))
    assert finding.outcome == Outcome.FAIL
    assert "data loading" in finding.sentence


def test_of_the_decode_step_attention_is() -> None:
    facts = captured("h200_llama_decode_32k_prefix.trace.json.gz")
    finding = hot.find(inputs(trace=seen(facts)))
    # 11.4236 ms of attention in 15.506 ms, as read off the raw events.
    assert finding.value == pytest.approx(11.423558 / 15.506, abs=1e-3)
    assert figures(finding).operator == "attention"
