"""Format a value of a log as text."""

from __future__ import annotations

import math
from typing import Any

LONGEST = 500


def text(value: Any) -> str:
    """Format a value; whole numbers without decimals, a missing value as ""."""
    if value is None:
        return ""
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
    return str(value)[:LONGEST]
