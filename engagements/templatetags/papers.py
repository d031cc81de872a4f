"""How frozen facts are written on pages: their amounts and days are texts."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from babel import Locale
from django import template
from django.utils.safestring import SafeString

from engagements.common.money import format_money
from engagements.templatetags.show import day

register = template.Library()


@register.filter
def said(amount: str, currency: str) -> str:
    """A frozen amount ("12000.00") in its currency's own form."""
    return format_money(Decimal(amount), currency)


@register.filter
def said_day(text: str | None) -> SafeString | str:
    """A frozen day ("2026-03-31"), as pages write days; a dash where there is none."""
    return day(date.fromisoformat(text) if text else None)


@register.filter
def said_rate(percent: str) -> str:
    """A frozen rate ("19.00") without zeros that say nothing."""
    return f"{Decimal(percent).normalize():f}%"


@register.filter
def country_name(code: str) -> str:
    """A country by its ISO 3166-1 code, in English."""
    return str(Locale("en").territories.get(code, code))
