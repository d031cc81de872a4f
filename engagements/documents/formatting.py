"""Format dates, amounts and parties for documents."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from ipaddress import ip_address
from typing import Any

from babel import Locale
from babel.dates import format_datetime

from engagements.common.dates import LOCALE
from engagements.common.money import quantize
from engagements.people.models import Customer

_MINUS = "−"


def moment(value: datetime) -> str:
    """Format a time as 5 October 2026, 14:03:22 UTC."""
    text = format_datetime(value.astimezone(UTC), "d MMMM y, HH:mm:ss", locale=LOCALE)
    return f"{text} UTC"


def day(value: date) -> str:
    """Format a date for tables: 21 May 2026."""
    return f"{value.day} {value:%b %Y}"


def moment_of(text: str) -> str:
    """Format an ISO 8601 time like `moment`."""
    return moment(datetime.fromisoformat(text))


def address(value: str | None) -> str:
    """An IP address; empty for none and for this machine's own, which says nothing."""
    return "" if value is None or ip_address(value).is_loopback else value


def figure(amount: Decimal, currency: str) -> str:
    """Format an amount for a column whose heading names the currency: 48,000.00, −7,140.00."""
    text = f"{quantize(abs(amount), currency):,f}"
    return f"{_MINUS}{text}" if amount < 0 else text


def percent(value: Decimal) -> str:
    """Format a percentage without trailing zeros: 19%, 7.5%."""
    text = f"{value:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + "%"


def share(value: float) -> str:
    """Format a share of 1 as a percentage with up to two decimals: 95%, 33.33%."""
    return percent(round(Decimal(str(value)) * 100, 2).normalize())


def plain_number(value: Decimal) -> str:
    """Format a number without trailing zeros: 2, 2.5."""
    return percent(value)[:-1]


def party(data: Mapping[str, Any]) -> dict[str, str]:
    """Return a party of a sealed document with its country's name."""
    code = str(data.get("country") or "")
    return {
        "name": str(data["name"]),
        "address": str(data.get("address") or "").strip(),
        "country_name": str(Locale("en").territories.get(code, code)),
        "vat_id": str(data.get("vat_id") or ""),
    }


def customer(row: Customer) -> dict[str, str]:
    """Return a customer's current data in the form of `party`."""
    return party(
        {
            "name": row.name,
            "address": row.address,
            "country": row.country,
            "vat_id": row.vat_id,
        }
    )
