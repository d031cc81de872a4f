"""Amounts of money: exact decimals, rounded half up at the currency's own minor unit.

An amount never travels without its currency. Minor units come from CLDR through babel:
JPY has none, EUR has two digits, KWD three.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

from babel.numbers import format_currency, get_currency_precision, list_currencies


class UnknownCurrency(ValueError):
    """The code names no currency."""


@lru_cache(maxsize=1)
def _known() -> frozenset[str]:
    return frozenset(list_currencies())


@lru_cache(maxsize=64)
def minor_unit(currency: str) -> Decimal:
    """The smallest amount in `currency` (ISO 4217): 1 for JPY, 0.01 for EUR, 0.001 for KWD.

    Raises UnknownCurrency; babel itself would quietly say two digits.
    """
    if currency not in _known():
        raise UnknownCurrency(f"{currency!r} is no currency code, as EUR is.")
    return Decimal(1).scaleb(-get_currency_precision(currency))


def quantize(amount: Decimal, currency: str) -> Decimal:
    """`amount` rounded half up (away from zero) at the minor unit of `currency`."""
    return amount.quantize(minor_unit(currency), rounding=ROUND_HALF_UP)


def is_exact(amount: Decimal, currency: str) -> bool:
    """Whether `amount` can be paid in `currency` without rounding."""
    return amount.is_finite() and amount == quantize(amount, currency)


def tax_on(amount: Decimal, rate_percent: Decimal, currency: str) -> Decimal:
    """The tax on a net `amount`, rounded."""
    return quantize(amount * rate_percent / 100, currency)


def gross_of(amount: Decimal, rate_percent: Decimal, currency: str) -> Decimal:
    """A net `amount` with its tax."""
    return quantize(amount, currency) + tax_on(amount, rate_percent, currency)


def allocate(total: Decimal, shares: Sequence[Decimal | int], currency: str) -> list[Decimal]:
    """`total` split in proportion to `shares`, by largest remainder: the parts add up to it.

    Of equal remainders the earlier part gets the unit. Raises ValueError when `total` is not
    exact in `currency`, a share is negative, or there is nothing to split by.
    """
    if not is_exact(total, currency):
        raise ValueError(f"{total} is not an exact amount of {currency}.")
    weights = [Decimal(share) for share in shares]
    whole = sum(weights, Decimal(0))
    if any(weight < 0 for weight in weights) or whole <= 0:
        raise ValueError("Shares are not negative, and one of them is more than nothing.")
    unit = minor_unit(currency)
    sign = -1 if total < 0 else 1
    units = int(abs(total) / unit)
    # Compared times `whole`, so that no remainder is lost to division.
    floors = [int(units * w // whole) for w in weights]
    remainders = [units * w - f * whole for w, f in zip(weights, floors, strict=True)]
    by_remainder = sorted(range(len(weights)), key=lambda i: (-remainders[i], i))
    for index in by_remainder[: units - sum(floors)]:
        floors[index] += 1
    return [sign * part * unit for part in floors]


def plain(amount: Decimal, currency: str) -> str:
    """`amount` as sealed JSON writes it: digits of the minor unit, no grouping ("48000.00")."""
    return f"{quantize(amount, currency):f}"


def format_money(amount: Decimal, currency: str) -> str:
    """`amount` for people, as in "EUR 48,000.00" (with a space that does not break)."""
    code_first = "¤¤\u00a0#,##0.00;-¤¤\u00a0#,##0.00"
    return str(
        format_currency(quantize(amount, currency), currency, format=code_first, locale="en_US")
    )
