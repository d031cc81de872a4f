"""Units of ncu's metrics, with the prefixes used without `--print-units base`."""

from __future__ import annotations

import re

_PREFIXES = {
    "": 1.0,
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
}
_SECONDS = {
    "s": 1.0,
    "second": 1.0,
    "sec": 1.0,
    "ms": 1e-3,
    "msecond": 1e-3,
    "msec": 1e-3,
    "us": 1e-6,
    "usecond": 1e-6,
    "usec": 1e-6,
    "µs": 1e-6,
    "ns": 1e-9,
    "nsecond": 1e-9,
    "nsec": 1e-9,
}
_BYTES = re.compile(r"([KMGTPk]?)(byte|bytes|B)(/s|/second)?")


def in_us(value: float | None, unit: str) -> float | None:
    """Convert a duration to microseconds; None for another unit."""
    scale = _SECONDS.get(unit.strip())
    return None if value is None or scale is None else round(value * scale * 1e6, 9)


def in_bytes(value: float | None, unit: str) -> float | None:
    """Convert to bytes or bytes per second; None for another unit. Prefixes are powers of 1000."""
    found = _BYTES.fullmatch(unit.strip())
    return None if value is None or found is None else value * _PREFIXES[found[1]]


def as_share(value: float | None, unit: str) -> float | None:
    """Convert a percentage to a fraction; None for another unit."""
    return round(value / 100.0, 12) if value is not None and unit.strip() == "%" else None
