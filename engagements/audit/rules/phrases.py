"""Format numbers for sentences."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from engagements.audit.rules.figures import NOT_KNOWN, Interval
from engagements.common import ratios as speedups

MOST_DIGITS = 6


def percent(share: float) -> str:
    """Format a share as a percentage: 38%, 4.9%, 0.25%. 4.96% does not round up to 5%."""
    value = share * 100
    if 0 < value < 0.01:
        return "under 0.01%"
    return f"{_figure(value, 1 if value >= 1 else 2)}%"


def _figure(value: float, digits: int) -> str:
    """Format `value` with `digits` digits, or more if it would round up to a whole number."""
    while digits < MOST_DIGITS and value < round(value, digits) == round(round(value, digits)):
        digits += 1
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if digits else text


def percent_or_not_known(share: float | None) -> str:
    """Format a share as a percentage, or "not known"."""
    return NOT_KNOWN if share is None else percent(share)


def percents(shares: Interval) -> str:
    """Format one percentage or a range."""
    low, high = percent(shares.low), percent(shares.high)
    return low if low == high else f"{low.removesuffix('%')} to {high}"


def times(ratio: float) -> str:
    """Format a ratio: 1.08×, 2.6×, 17×; near 1 1.004×. 1.996× does not round up to 2×."""
    digits = 0 if ratio >= 100 else 1 if ratio >= 10 else 2 if abs(ratio - 1) >= 0.005 else 4
    return speedups.times(_figure(ratio, digits))


def times_each(ratios: Interval) -> str:
    """Format one ratio or a range."""
    low, high = times(ratios.low), times(ratios.high)
    return low if low == high else f"{low.removesuffix(speedups.SIGN)} to {high}"


def weeks(number: float) -> str:
    """Format a time in weeks, from two years on in years."""
    if number >= 104:
        return f"{number / 52:.1f}".removesuffix(".0") + " years"
    text = f"{number:.0f}" if number >= 9.95 else f"{number:.1f}".removesuffix(".0")
    return f"{text} week" if text == "1" else f"{text} weeks"


def hours(number: float) -> str:
    """Format hours; few hours with a decimal."""
    text = f"{number:.1f}".removesuffix(".0")
    return f"{text} hour" if text == "1" else f"{text} hours"


def money(amount: Decimal | float, currency: str) -> str:
    """Format an estimated amount in whole units."""
    return f"{currency} {Decimal(amount):,.0f}"


def volume(number: float) -> str:
    """Format bytes in the largest unit of which there is at least one."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if abs(number) < 1000 or unit == "GB":
            return f"{number:.3g} {unit}"
        number /= 1000
    raise AssertionError


def capital(text: str) -> str:
    """Capitalise the first letter only."""
    return text[:1].upper() + text[1:]


def listed(words: Sequence[str], last: str = "and") -> str:
    """Join words as in `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"
