"""Check 4: weeks of life against weeks of work, and when the fee is back."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engagements.audit.rules import Finding, Outcome, gain, survives
from engagements.audit.rules.lives import LifeFigures
from tests.engagements.audit.inputs import (
    LLAMA_32K,
    answered,
    bill,
    inputs,
    ratio,
    roadmap,
    stated,
    work,
)


def figures(finding: Finding) -> LifeFigures:
    assert isinstance(finding.figures, LifeFigures)
    return finding.figures


def test_the_fee_is_back_after_what_is_saved_adds_up_to_it() -> None:
    # Twice as fast halves a bill of 20,000 a month: 60,000 are back after six months, 26 weeks.
    finding = survives.find(
        inputs(work=work(), gpu_bill=bill(20_000), end_to_end=stated(ratio(2.0)), roadmap=roadmap())
    )
    assert figures(finding).saved_a_month == (Decimal(10_000), Decimal(10_000))
    assert figures(finding).payback_weeks == (pytest.approx(26), pytest.approx(26))
    assert finding.outcome == Outcome.PASS
    assert "The fee is repaid after 26 weeks" in finding.sentence


def test_a_claim_above_its_ceiling_saves_no_more_than_the_ceiling_allows() -> None:
    # Half of the time: even an infinitely fast kernel is twice as fast, and halves the bill.
    finding = survives.find(
        inputs(
            share=stated(0.5),
            end_to_end=stated(ratio(10.0)),
            work=work(),
            gpu_bill=bill(20_000),
            roadmap=roadmap(),
        )
    )
    assert figures(finding).end_to_end == ratio(2.0)
    assert figures(finding).saved_a_month == (Decimal(10_000), Decimal(10_000))


def test_a_model_retired_next_quarter_fails_the_check() -> None:
    # 14 weeks to the next model, six of work: eight are left.
    finding = survives.find(
        inputs(
            work=work(),
            roadmap=roadmap(("Llama-3.3", 14, {"hidden": 8192})),
            gpu_bill=bill(20_000),
            end_to_end=stated(ratio(1.5)),
        )
    )
    assert finding.outcome == Outcome.FAIL
    assert figures(finding).remaining_weeks == pytest.approx(8)
    assert "8 weeks of use before Llama-3.3" in finding.sentence


@pytest.mark.parametrize(("weeks", "outcome"), [(29.9, "fail"), (30, "pass")])
def test_four_weeks_of_use_are_wanted_for_a_week_of_work(weeks: float, outcome: str) -> None:
    finding = survives.find(inputs(work=work(6), life_weeks=stated(float(weeks))))
    assert finding.outcome == outcome
    # Without a bill nobody can say when the fee is back, and the finding does not pretend to.
    assert ("payback of the fee is unknown" in finding.sentence) is (outcome == "pass")


def test_the_interval_of_the_speedup_may_leave_it_open() -> None:
    # At 1.1x 60,000 take 143 weeks of a bill of 20,000 a month, at 2x they take 26.
    known = {"work": work(), "gpu_bill": bill(20_000), "roadmap": roadmap()}
    finding = survives.find(inputs(end_to_end=stated(ratio(1.1, 2.0)), **known))
    assert finding.outcome == Outcome.UNKNOWN
    soonest, latest = figures(finding).payback_weeks or (None, None)
    assert (soonest, latest) == (pytest.approx(26), pytest.approx(143))
    assert finding.to_collect
    never = survives.find(inputs(end_to_end=stated(ratio(0.9, 1.0)), **known))
    assert (never.outcome, figures(never).payback_weeks) == ("fail", (None, None))


def test_sizes_that_may_be_any_do_not_end_the_kernel() -> None:
    finding = survives.find(
        inputs(
            needs=answered(LLAMA_32K),
            work=work(),
            roadmap=roadmap(("Longer prompts", 10, {"prefix_len": 65536, "heads": 32})),
        )
    )
    (change,) = figures(finding).changes
    assert (change.free, change.tuned, change.foreign) == (("prefix_len",), (), ())
    assert finding.outcome == Outcome.PASS


def test_sizes_that_it_is_made_for_do_and_so_do_other_axes() -> None:
    finding = survives.find(
        inputs(
            needs=answered(LLAMA_32K),
            work=work(),
            roadmap=roadmap(("Next", 20, {"head_dim": 256, "latent_dim": 512})),
        )
    )
    (change,) = figures(finding).changes
    assert (change.tuned, change.foreign) == (("head_dim",), ("latent_dim",))
    assert finding.outcome == Outcome.FAIL


def test_a_change_beyond_what_plans_are_believed_for_does_not_count() -> None:
    finding = survives.find(inputs(work=work(), roadmap=roadmap(("Far", 200, {"heads": 64}))))
    assert finding.outcome == Outcome.PASS
    assert figures(finding).is_open_ended


@pytest.mark.parametrize("known", [{}, {"work": work()}, {"roadmap": roadmap()}])
def test_without_life_or_work_it_is_unknown(known: dict[str, object]) -> None:
    finding = survives.find(inputs(**known))
    assert finding.outcome == Outcome.UNKNOWN
    assert len(finding.to_collect) == 2 - len(known)


@given(
    bill_a_month=st.integers(1, 10**7),
    fee=st.integers(1, 10**7),
    ratios=st.tuples(st.floats(1.01, 50), st.floats(1.01, 50)).map(sorted),
)
def test_a_larger_speedup_pays_back_sooner_and_never_more_than_the_bill_is_saved(
    bill_a_month: int, fee: int, ratios: list[float]
) -> None:
    low, high = (gain.saved(Decimal(bill_a_month), ratio) for ratio in ratios)
    assert 0 < low <= high < bill_a_month
    soon, late = (gain.weeks_to_pay(Decimal(fee), each) for each in (high, low))
    assert soon is not None
    assert late is not None
    assert soon <= late * (1 + 1e-9)
    assert late / float(gain.WEEKS_A_MONTH) * float(low) == pytest.approx(fee)


def test_a_fee_that_comes_back_too_late_is_not_said_to_be_a_short_life() -> None:
    # 1.1x saves 91 of 1,000 a month: 60,000 take 660 months, and two years are left.
    finding = survives.find(
        inputs(work=work(), gpu_bill=bill(1_000), end_to_end=stated(ratio(1.1)), roadmap=roadmap())
    )
    assert finding.outcome == Outcome.FAIL
    assert "does not last" not in finding.sentence
    assert "the fee is repaid after" in finding.sentence
    assert "EUR 91 a month lower" in finding.paragraph
