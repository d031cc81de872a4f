"""Money is exact, in the currency's own smallest unit."""

from decimal import ROUND_HALF_UP, Decimal
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engagements.common import money

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


CURRENCIES = st.sampled_from(["EUR", "USD", "JPY", "KWD"])
# In minor units of any currency, up to what a column of 14 digits holds.
UNITS = st.one_of(st.sampled_from([0, 1, -1, 2, 100]), st.integers(-(10**13), 10**13))
SHARES = st.lists(
    st.one_of(
        st.just(D(0)),
        st.just(D(1)),
        st.decimals(0, 10**9, places=3),
        st.fractions(0, 9).map(lambda share: D(share.numerator) / D(share.denominator)),
    ),
    min_size=1,
    max_size=12,
).filter(any)


@given(units=UNITS, shares=SHARES, currency=CURRENCIES)
def test_parts_of_any_amount_add_up_and_none_is_a_unit_off(
    units: int, shares: list[D], currency: str
) -> None:
    unit = money.minor_unit(currency)
    total = units * unit
    parts = money.allocate(total, shares, currency)
    assert sum(parts) == total
    whole = sum(shares)
    for part, share in zip(parts, shares, strict=True):
        assert money.is_exact(part, currency)
        assert abs(part * whole - total * share) < unit * whole
        assert part == 0 or (part < 0) == (total < 0)


@given(units=UNITS, count=st.integers(1, 12), currency=CURRENCIES)
def test_equal_parts_differ_by_one_unit_at_most(units: int, count: int, currency: str) -> None:
    unit = money.minor_unit(currency)
    parts = money.allocate(units * unit, [1] * count, currency)
    assert max(parts) - min(parts) in (0, unit)


@given(net=UNITS, rate=st.decimals(0, D("99.99"), places=2), currency=CURRENCIES)
def test_tax_is_half_a_unit_off_at_most_and_the_gross_is_exact(
    net: int, rate: D, currency: str
) -> None:
    unit = money.minor_unit(currency)
    amount = net * unit
    tax = money.tax_on(amount, rate, currency)
    assert abs(tax - amount * rate / 100) * 2 <= unit
    assert money.gross_of(amount, rate, currency) == amount + tax
    assert money.tax_on(-amount, rate, currency) == -tax


@given(amount=st.decimals(-(10**11), 10**11, places=6), currency=CURRENCIES)
def test_rounding_is_half_up_by_magnitude_and_happens_once(amount: D, currency: str) -> None:
    rounded = money.quantize(amount, currency)
    digits = money.minor_digits(currency)
    assert rounded == D(f"{abs(amount):f}").quantize(D(1).scaleb(-digits), ROUND_HALF_UP).copy_sign(
        amount
    )
    assert money.quantize(rounded, currency) == rounded


@pytest.mark.parametrize(
    ("currency", "digits"),
    [("EUR", 2), ("USD", 2), ("JPY", 0), ("KWD", 3), ("RSD", 2), ("IQD", 3), ("ISK", 0)],
)
def test_minor_units_are_those_that_banks_pay(currency: str, digits: int) -> None:
    assert money.minor_digits(currency) == digits
    assert money.minor_unit(currency) == D(1).scaleb(-digits)


@pytest.mark.parametrize(
    ("locale", "euros", "yen"),
    [
        ("en", "EUR\u00a048,000.50", "-JPY\u00a048,000"),
        ("de", "48.000,50\u00a0EUR", "-48.000\u00a0JPY"),
        ("fr", "48\u202f000,50\u00a0EUR", "-48\u202f000\u00a0JPY"),
        ("nl", "EUR\u00a048.000,50", "JPY\u00a0-48.000"),
    ],
)
def test_an_amount_is_written_as_its_reader_writes_it(locale: str, euros: str, yen: str) -> None:
    assert money.format_money(D("48000.5"), "EUR", locale) == euros
    assert money.format_money(D("-48000"), "JPY", locale) == yen
    # Not the digits that CLDR has for it, which are none.
    assert "1.00" in money.format_money(D("1"), "RSD", locale).replace(",", ".")


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
