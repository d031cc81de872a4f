"""Each check reads the value that was typed, and holds it against its own rule."""

import pytest

from engagements.audit import rules
from engagements.audit.models import Audit, Finding, check_choices
from tests.errors import declined


def test_the_model_offers_every_check_in_order() -> None:
    assert check_choices() == [(check.name, check.question) for check in rules.CHECKS]
    field = Finding._meta.get_field("check_name")
    assert all(len(check.name) <= (field.max_length or 0) for check in rules.CHECKS)


@pytest.mark.parametrize("check", rules.CHECKS, ids=lambda check: check.name)
def test_every_check_says_what_its_outcomes_mean_to_both_sides(check: rules.Check) -> None:
    for meanings in (check.consultant, check.customer):
        words = [meanings.of(outcome) for outcome in ("pass", "fail", "unknown")]
        assert len(set(words)) == 3
        assert all(word.endswith(".") for word in words)


@pytest.mark.parametrize(
    ("check", "typed", "stored"),
    [
        ("hot", " 38 ", "38%"),
        ("hot", "38%", "38%"),
        ("hot", "5", "5%"),
        ("hot", "38.5 percent of GPU time", "38.5 percent of GPU time"),
        ("off_the_shelf", "FlashAttention  3", "FlashAttention 3"),
        ("stable", "three shapes carry 97%", "three shapes carry 97%"),
        ("survives", "18", "18 months"),
        ("survives", "2 years", "2 years"),
        ("maintain", "2", "2 engineers"),
        ("maintain", "2 kernel engineers", "2 kernel engineers"),
        ("worth", "2", "2×"),
        ("worth", "2.8x end to end", "2.8× end to end"),
    ],
)
def test_a_value_is_parsed_with_its_unit(check: str, typed: str, stored: str) -> None:
    assert rules.check(check).validate(typed, "pass") == stored


@pytest.mark.parametrize(
    ("check", "typed", "code"),
    [
        ("hot", "a lot", "without_number"),
        ("hot", "380%", "out_of_range"),
        ("hot", "38 ms", "without_number"),
        ("stable", "101", "out_of_range"),
        ("survives", "a while", "without_number"),
        ("maintain", "some", "without_number"),
        ("worth", "0", "out_of_range"),
        ("worth", "fast", "without_number"),
        ("off_the_shelf", "x" * 201, "too_long"),
    ],
)
def test_an_invalid_value_is_declined(check: str, typed: str, code: str) -> None:
    with declined(f"audit.value_{code}"):
        rules.check(check).validate(typed, "pass")


@pytest.mark.parametrize("check", rules.CHECKS, ids=lambda check: check.name)
def test_only_unknown_needs_no_value(check: rules.Check) -> None:
    assert check.validate("  ", "unknown") == ""
    with declined("audit.value_missing"):
        check.validate("  ", "pass")


@pytest.mark.parametrize(
    ("check", "value", "wrong", "right"),
    [
        ("hot", "4.9%", "pass", "fail"),
        ("hot", "5%", "fail", "pass"),
        ("worth", "1.99x", "pass", "fail"),
        ("worth", "2x", "fail", "pass"),
        ("maintain", "0", "pass", "fail"),
    ],
)
def test_an_outcome_cannot_say_the_opposite_of_its_number(
    check: str, value: str, wrong: str, right: str
) -> None:
    assert rules.check(check).validate(value, right)
    assert rules.check(check).validate(value, "unknown")
    with declined("audit.value_contradicts_outcome"):
        rules.check(check).validate(value, wrong)


def test_an_unknown_check_is_an_error() -> None:
    with pytest.raises(ValueError, match="vibes"):
        rules.check("vibes")


@pytest.mark.parametrize(
    ("passes", "outcome"),
    [
        (6, "custom"),
        (4, "custom"),
        (3, "redirect"),
        (2, "redirect"),
        (1, "decline"),
        (0, "decline"),
    ],
)
def test_four_passes_are_custom_two_redirect_fewer_decline(passes: int, outcome: str) -> None:
    assert rules.outcome_of(passes) == outcome


def test_an_override_counts_and_the_finding_beside_it_is_still_known() -> None:
    findings = [Finding(outcome="pass")] * 3
    override = Finding(outcome="fail", override_outcome="pass", override_confirmed_by_id=1)
    findings += [override, Finding(), Finding()]
    tally = rules.tally(findings)
    assert (tally.passes_found, tally.passes, tally.unknowns) == (3, 4, 2)
    assert tally.outcome_found == Audit.Outcome.REDIRECT
    assert tally.outcome == Audit.Outcome.CUSTOM


def test_unknown_is_no_pass() -> None:
    tally = rules.tally([Finding(outcome="unknown")] * 6)
    assert tally.passes == 0
    assert tally.outcome == Audit.Outcome.DECLINE
