"""Whatever a link says: an answer or a word beside the field, never an error."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
from django.http import QueryDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engagements.audit.rules.verdict import examine
from engagements.pitch.forms import PitchForm
from engagements.pitch.rules import inputs_of
from kernels import coverage

TODAY = dt.date(2026, 11, 21)
FUZZ = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# What every field takes, and what is beyond a line or no number at all.
POSSIBLE = st.sampled_from(["", "1", "4.99", "5", "50", "99.9999", "100"])
AMOUNT = st.sampled_from(["", "1", "50.25", "60,000.00"])
ODD = ("0", "0.0001", "744", "1000", "-1", "NaN", "1e5", "1,5", "one", "\u0663", "9" * 40)
NUMBERS = ("share", "speedup", "whole", "roofline", "life", "hours")
NEEDS = st.lists(st.sampled_from(coverage.FEATURES), unique=True, max_size=3)


def form_of(typed: dict[str, Any]) -> PitchForm:
    return PitchForm(QueryDict(urlencode(typed, doseq=True)))


@FUZZ
@given(
    typed=st.fixed_dictionaries(
        dict.fromkeys(NUMBERS, POSSIBLE) | dict.fromkeys(("fee", "bill"), AMOUNT)
    ),
    needs=NEEDS,
    weeks=st.sampled_from(["0.1", "6", "260"]),
    lines=st.sampled_from(["", "8x4096 5\n9 1"]),
)
def test_whatever_is_possible_gets_an_answer_and_its_link_the_same(
    typed: dict[str, Any], needs: list[str], weeks: str, lines: str
) -> None:
    typed = typed | {"weeks": weeks, "currency": "EUR", "definition": "flash_attention"}
    form = form_of(typed | {"features": needs, "libraries": lines, "shapes": lines})
    assert form.is_valid(), form.errors
    verdict = examine(inputs_of(form.pitch(), today=TODAY))
    assert len(verdict.findings) == 6
    again = PitchForm(QueryDict(urlencode(form.query())))
    assert again.is_valid()
    assert again.pitch() == form.pitch()
    assert again.query() == form.query()


@FUZZ
@given(
    typed=st.fixed_dictionaries(
        dict.fromkeys((*NUMBERS, "weeks", "fee", "bill"), POSSIBLE | st.sampled_from(ODD))
    ),
    currency=st.sampled_from(["EUR", "jpy", "KWD", "XXX", "", "EURO"]),
    definition=st.sampled_from(["flash_attention", "", "nonsense"]),
    lines=st.text(max_size=60),
)
def test_whatever_is_not_is_said_beside_its_field(
    typed: dict[str, Any], currency: str, definition: str, lines: str
) -> None:
    typed = typed | {"currency": currency, "definition": definition, "features": ["window"]}
    form = form_of(typed | {"libraries": lines, "shapes": lines, "operator": lines})
    if form.is_valid():
        examine(inputs_of(form.pitch(), today=TODAY))
    else:
        assert all(form.errors.values())


def test_amounts_are_read_in_their_currency() -> None:
    form = PitchForm(QueryDict("fee=60.000,00&bill=1234.50&currency=eur&weeks=6"))
    assert form.is_valid(), form.errors
    pitch = form.pitch()
    assert (pitch.fee, pitch.bill_a_month) == (Decimal(60000), Decimal("1234.50"))
    assert pitch.currency == "EUR"


def test_percentages_are_shares() -> None:
    form = PitchForm(QueryDict("share=40&roofline=35.5"))
    assert form.is_valid()
    assert form.pitch().share == 0.4
    assert form.pitch().roofline_share == pytest.approx(0.355)


def test_what_was_left_out_is_not_in_the_link() -> None:
    form = PitchForm(QueryDict("share=40&speedup=&features=window&features=masks&unknown=1"))
    assert form.is_valid() is False
    assert "definition" in form.errors
    said = parse_qs(urlencode(form.query()))
    assert said == {"share": ["40"], "features": ["window", "masks"]}


@pytest.mark.parametrize(
    ("typed", "share"),
    [("86 %", 0.86), ("86%", 0.86), ("86,5", 0.865), (" 86.5 ", 0.865), ("0,0001 %", 1e-6)],
)
def test_numbers_are_read_as_people_type_them(typed: str, share: float) -> None:
    form = form_of({"share": typed, "speedup": "3x", "whole": "2,5 ×"})
    assert form.is_valid(), form.errors
    assert form.pitch().share == pytest.approx(share)
    assert (form.pitch().kernel_speedup, form.pitch().end_to_end) == (3, 2.5)


@pytest.mark.parametrize("typed", ["1,234", "1.2.3", "%", "x", "86 percent", "1,2,3"])
def test_what_could_be_two_numbers_or_none_is_asked_about(typed: str) -> None:
    form = form_of({"life": typed})
    assert form.has_error("life", "invalid")


def test_a_fraction_typed_as_a_percentage_is_doubted_and_still_answered() -> None:
    form = form_of({"share": "0.86", "roofline": "1"})
    assert form.is_valid(), form.errors
    assert form.pitch().share == pytest.approx(0.0086)
    share, roofline = form.doubts()
    assert "0.86%" in share
    assert "86." in share
    assert "1%" in roofline
    assert "100." in roofline
    plain = form_of({"share": "86", "roofline": ""})
    assert plain.is_valid()
    assert plain.doubts() == []
