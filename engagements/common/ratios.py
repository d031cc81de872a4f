"""Speedups as people read them, on pages, on paper and in mails: 2.34×, with one sign.

Terminals and the referee's records write an x, which every keyboard has.
"""

from __future__ import annotations

import re
from decimal import Decimal

SIGN = "×"


def times(figure: str) -> str:
    """A speedup of a number that is written already."""
    return f"{figure}{SIGN}"


def measured(value: float | Decimal | None, *, unknown: str = "not measured") -> str:
    """As it was measured, with two decimals: 2.34×."""
    return unknown if value is None else times(f"{value:.2f}")


def agreed(value: float | Decimal) -> str:
    """As somebody named it, with no needless decimal: 2×, 1.25×."""
    return times(f"{float(value):g}")


def with_sign(text: str) -> str:
    """A text with the speedups in it written so, whoever wrote it."""
    return re.sub(r"(?<=\d)\s*x\b", SIGN, text)
