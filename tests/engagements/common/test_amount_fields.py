"""Amounts as people type them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError

from engagements.common.amount_fields import AmountError, AmountField, parse_amount, plain_amount


@contextmanager
def invalid(code: str, kind: type[Exception] = AmountError) -> Iterator[None]:
    """Expect an error with this code."""
    with pytest.raises(kind) as caught:
        yield
    assert getattr(caught.value, "code", None) == code


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1234.50", "1234.50"),
        ("1,234.50", "1234.50"),
        ("1.234,50", "1234.50"),
        ("1.234.567,89", "1234567.89"),
        ("1,234,567", "1234567.00"),
        ("1 234,5", "1234.50"),
        ("1\u202f234,50", "1234.50"),
        ("1'234.50", "1234.50"),
        ("0,5", "0.50"),
        ("1000", "1000.00"),
        (" 17136 ", "17136.00"),
        ("EUR 1.234,50", "1234.50"),
        ("1234,50 eur", "1234.50"),
        ("\u20ac 12.00", "12.00"),
        ("12.500,00", "12500.00"),
        ("1234.500", "1234.50"),
    ],
)
def test_both_notations_are_read(text: str, amount: str) -> None:
    assert parse_amount(text, currency="EUR") == Decimal(amount)


@pytest.mark.parametrize("text", ["1.234", "1,234", "12.500", "999,000", "EUR 1.234"])
def test_what_could_be_two_amounts_is_refused_and_says_how_to_write_it(text: str) -> None:
    with invalid("amount.ambiguous"):
        parse_amount(text, currency="EUR")


@pytest.mark.parametrize(
    "text",
    [
        "1.23.4",
        "1,23,456.00",
        "1.234.50",
        "1,234,50",
        "12 34.00",
        "1.234,567.8",
        "abc",
        "12a",
        "1e3",
        "NaN",
        ".5",
        "5.",
        "1..5",
        "\u0661\u0662",
        "(5)",
    ],
)
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(AmountError):
        parse_amount(text, currency="EUR")


@pytest.mark.parametrize("text", ["0", "0.00", "-5", "\u22125,00"])
def test_nothing_and_less_are_no_amount(text: str) -> None:
    with invalid("amount.not_positive"):
        parse_amount(text, currency="EUR")


def test_decimals_that_the_currency_does_not_have_are_refused() -> None:
    with invalid("amount.too_precise"):
        parse_amount("12.3456", currency="EUR")
    with invalid("amount.too_precise"):
        parse_amount("12.5", currency="JPY")


def test_another_currency_is_refused() -> None:
    with invalid("amount.other_currency"):
        parse_amount("USD 12.00", currency="EUR")


def test_an_amount_beyond_the_column_is_refused() -> None:
    with invalid("amount.out_of_range"):
        parse_amount("100000000000", currency="EUR")


@pytest.mark.parametrize(
    ("amount", "currency"),
    [
        ("1234.50", "EUR"),
        ("7735.00", "EUR"),
        ("234.567", "KWD"),
        ("1234.567", "KWD"),
        ("0.250", "KWD"),
        ("48000", "JPY"),
        ("123", "JPY"),
    ],
)
def test_what_a_form_shows_it_reads_back_the_same(amount: str, currency: str) -> None:
    value = Decimal(amount)
    assert parse_amount(plain_amount(value, currency=currency), currency=currency) == value


def test_three_decimals_are_as_ambiguous_in_dinar() -> None:
    with invalid("amount.ambiguous"):
        parse_amount("234.567", currency="KWD")


def test_a_field_keeps_what_was_typed_beside_its_error() -> None:
    field = AmountField(currency="EUR")
    with invalid("amount.ambiguous", ValidationError):
        field.clean("1.234")
    assert field.prepare_value("1.234") == "1.234"
    assert field.prepare_value(Decimal("1234.500")) == "1234.50"


def test_an_empty_required_field_says_what_is_missing() -> None:
    field = AmountField(currency="EUR", error_messages={"required": "Enter the amount."})
    with invalid("required", ValidationError):
        field.clean("  ")
    assert AmountField(currency="EUR", required=False).clean("") is None
