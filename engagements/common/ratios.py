"""Format speedups for pages, documents and mails: 2.34×.

Terminals and the referee's records use an x instead of the sign.
"""

from __future__ import annotations

import re
from decimal import Decimal

SIGN = "×"


def times(figure: str) -> str:
    """Add the sign to a formatted number."""
    return f"{figure}{SIGN}"


def measured(value: float | Decimal | None, *, unknown: str = "not measured") -> str:
    """Format a measured ratio with two decimals: 2.34×."""
    return unknown if value is None else times(f"{value:.2f}")


def with_interval(ratio: float | None, low: float | None, high: float | None) -> str:
    """Format a measured ratio with its interval, if it has one: 2.61× (2.52× to 2.70×)."""
    interval = "" if low is None else f" ({measured(low)} to {measured(high)})"
    return f"{measured(ratio)}{interval}"


def agreed(value: float | Decimal) -> str:
    """Format an agreed ratio without trailing zeros: 2×, 1.25×."""
    return times(f"{float(value):g}")


def with_sign(text: str) -> str:
    """Replace the x of speedups in `text` by the sign."""
    return re.sub(r"(?<=\d)\s*x\b", SIGN, text)
