"""Money is exact, in the currency's own smallest unit."""

from decimal import Decimal
from itertools import product

import pytest

from engagements import money

D = Decimal


@pytest.mark.parametrize(
    ("amount", "currency", "rounded"),
    [
        ("0.005", "EUR", "0.01"),
        ("2.675", "EUR", "2.68"),
        ("-2.675", "EUR", "-2.68"),
        ("0.5", "JPY", "1"),
        ("1.5", "JPY", "2"),
        ("2.5", "JPY", "3"),
        ("0.0005", "KWD", "0.001"),
        ("1.2345", "KWD", "1.235"),
    ],
)
def test_halves_are_rounded_away_from_nothing(amount: str, currency: str, rounded: str) -> None:
    assert str(money.quantize(D(amount), currency)) == rounded


def test_a_currency_that_does_not_exist_is_not_given_two_digits() -> None:
    with pytest.raises(money.UnknownCurrency, match="EURO"):
        money.minor_unit("EURO")


def test_an_amount_is_exact_when_it_can_be_paid() -> None:
    assert money.is_exact(D("10.10"), "EUR")
    assert money.is_exact(D("10.100"), "EUR")
    assert not money.is_exact(D("10.101"), "EUR")
    assert not money.is_exact(D("10.1"), "JPY")
    assert not money.is_exact(D("NaN"), "EUR")
    assert not money.is_exact(D("Infinity"), "EUR")


def test_tax_is_rounded_once_and_added() -> None:
    assert money.tax_on(D("99.99"), D("19"), "EUR") == D("19.00")
    assert money.gross_of(D("99.99"), D("19"), "EUR") == D("118.99")
    assert money.gross_of(D("101"), D("10"), "JPY") == D("111")


@pytest.mark.parametrize(
    ("total", "shares", "currency"),
    list(
        product(
            ["0", "1", "100", "99999", "-100"],
            [[1], [1, 1, 1], [0, 1], [1, 2, 3, 4], [D("0.1"), D("0.7"), D("0.2")], [7] * 13],
            ["EUR", "JPY", "KWD"],
        )
    ),
)
def test_parts_always_add_up(total: str, shares: list[int | D], currency: str) -> None:
    parts = money.allocate(D(total), shares, currency)
    assert sum(parts) == D(total)
    assert all(money.is_exact(part, currency) for part in parts)
    unit, whole = money.minor_unit(currency), sum(map(D, shares))
    for part, share in zip(parts, shares, strict=True):
        assert abs(part - D(total) * D(share) / whole) < unit


def test_the_largest_remainder_gets_the_unit() -> None:
    assert money.allocate(D("1.00"), [1, 1, 1], "EUR") == [D("0.34"), D("0.33"), D("0.33")]
    assert money.allocate(D("10"), [15, 25, 60], "JPY") == [D(2), D(2), D(6)]
    assert money.allocate(D("0.05"), [3, 7], "EUR") == [D("0.02"), D("0.03")]


@pytest.mark.parametrize("shares", [[], [0, 0], [1, -1, 3]])
def test_there_has_to_be_something_to_split_by(shares: list[int]) -> None:
    with pytest.raises(ValueError, match="Shares"):
        money.allocate(D("1.00"), shares, "EUR")


def test_only_an_exact_total_is_split() -> None:
    with pytest.raises(ValueError, match="exact"):
        money.allocate(D("1.005"), [1, 1], "EUR")


def test_money_is_written_with_its_currency() -> None:
    assert money.format_money(D("48000.000"), "EUR") == "EUR\u00a048,000.00"
    assert money.format_money(D("48000"), "JPY") == "JPY\u00a048,000"
    assert money.format_money(D("-1.5"), "KWD") == "-KWD\u00a01.500"
    assert money.plain(D("48000.000"), "EUR") == "48000.00"
