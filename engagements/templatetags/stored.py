"""Format facts stored as text, such as those of an issued invoice."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from babel import Locale
from django import template
from django.utils.safestring import SafeString

from engagements.common.money import format_money
from engagements.templatetags.show import day, figure

register = template.Library()


@register.filter
def stored_amount(amount: str, currency: str) -> str:
    """Format a stored amount ("12000.00") in its currency."""
    return format_money(Decimal(amount), currency)


@register.filter
def stored_figure(amount: str, currency: str) -> str:
    """Format a stored amount without its currency, which the heading of its table names."""
    return figure(Decimal(amount), currency)


@register.filter
def stored_day(text: str | None) -> SafeString | str:
    """Format a stored date ("2026-03-31"); a dash for none."""
    return day(date.fromisoformat(text) if text else None)


@register.filter
def stored_rate(percent: str) -> str:
    """Format a stored rate ("19.00") without trailing zeros."""
    return f"{Decimal(percent).normalize():f}%"


@register.filter
def country_name(code: str) -> str:
    """Return the English name of an ISO 3166-1 country code."""
    return str(Locale("en").territories.get(code, code))
