"""Amounts of money: exact decimals, rounded half up at the currency's own minor unit.

An amount never travels without its currency. Minor units are those of ISO 4217, from
py-moneyed: JPY has none, EUR has two digits, KWD three. (CLDR, which babel reads, has the
digits that people still write: none for RSD, which banks pay to the hundredth.) How an amount
is written in a locale comes from babel.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

import moneyed
from babel import Locale
from babel.core import get_global
from babel.numbers import NumberPattern

# Pages are in English.
LOCALE = "en"
_NO_BREAK = "\u00a0"
# Columns have 14 digits, three of them decimals.
LIMIT = Decimal(10) ** 11
# The highest limit of write-offs, and of credit notes, by one person that an operator may set, in
# any currency.
MOST_WRITTEN_OFF_ALONE = 1000


class UnknownCurrency(ValueError):
    """The code is not an ISO 4217 currency in use."""


@lru_cache(maxsize=64)
def minor_digits(currency: str) -> int:
    """The number of decimals of an amount in `currency` (ISO 4217). Raises UnknownCurrency."""
    if currency not in _in_use():
        raise UnknownCurrency(f"{currency!r} is not a currency in use. Use one such as EUR.")
    return len(str(moneyed.get_currency(currency).sub_unit)) - 1


# Bulgaria pays in euros since 1 January 2026; the installed CLDR is older.
WITHDRAWN = frozenset({"BGN"})


@lru_cache(maxsize=1)
def _in_use() -> frozenset[str]:
    """The ISO 4217 currencies that are legal tender somewhere today (CLDR)."""
    tender = {
        code
        for uses in get_global("territory_currencies").values()
        for code, _, ended, is_tender in uses
        if ended is None and is_tender
    }
    return frozenset((tender - WITHDRAWN) & moneyed.CURRENCIES.keys())


@lru_cache(maxsize=64)
def currency_codes() -> list[str]:
    """The currencies in use, by their codes of ISO 4217."""
    return sorted(_in_use())


def minor_unit(currency: str) -> Decimal:
    """The smallest amount in `currency` (ISO 4217): 1 for JPY, 0.01 for EUR, 0.001 for KWD.

    Raises UnknownCurrency.
    """
    return Decimal(1).scaleb(-minor_digits(currency))


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


def tax_shares(parts: Iterable[Decimal], rate_percent: Decimal, currency: str) -> list[Decimal]:
    """Return the tax on each of `parts` (net), in order: together the tax on their sum.

    Each is within a minor unit of its own tax, and the first ones add up to the tax on theirs.
    """
    net, taxed, shares = Decimal(0), Decimal(0), []
    for part in parts:
        net += part
        share = tax_on(net, rate_percent, currency) - taxed
        taxed += share
        shares.append(share)
    return shares


def allocate(total: Decimal, shares: Sequence[Decimal | int], currency: str) -> list[Decimal]:
    """Split `total` in proportion to `shares` by largest remainder; the parts add up to it.

    Of equal remainders the earlier part gets the unit. Raises ValueError when `total` is not
    exact in `currency`, a share is negative, or all shares are zero.
    """
    if not is_exact(total, currency):
        raise ValueError(f"{total} is not an exact amount of {currency}.")
    weights = [Decimal(share) for share in shares]
    whole = sum(weights, Decimal(0))
    if any(weight < 0 for weight in weights) or whole <= 0:
        raise ValueError("Shares must not be negative, and one must be positive.")
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
    """Format `amount` as in sealed JSON: digits of the minor unit, no grouping ("48000.00")."""
    return f"{quantize(amount, currency):f}"


def format_money(amount: Decimal, currency: str, locale: str = LOCALE) -> str:
    """Format `amount` for a locale (CLDR): "EUR 48,000.00", in German "48.000,00 EUR".

    With the code, because several currencies share a symbol; the space does not break.
    """
    return str(
        _pattern(currency, locale).apply(
            quantize(amount, currency), locale, currency=currency, currency_digits=False
        )
    )


@lru_cache(maxsize=256)
def _pattern(currency: str, locale: str) -> NumberPattern:
    """Return the locale's pattern with the currency's digits and its code set apart."""
    digits = minor_digits(currency)
    pattern = copy.copy(Locale.parse(locale).currency_formats["standard"])
    pattern.frac_prec = (digits, digits)
    pattern.prefix = tuple(_with_code(affix) for affix in pattern.prefix)
    pattern.suffix = tuple(_with_code(affix) for affix in pattern.suffix)
    return pattern


def _with_code(affix: str) -> str:
    """`affix` of a pattern with the currency's code (¤¤), which touches no digit."""
    code = affix.replace("¤", "¤¤")
    return f"{code}{_NO_BREAK}" if code.endswith("¤¤") and affix[:1] in "¤-" else code
