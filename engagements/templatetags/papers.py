"""How frozen facts are written on pages: their amounts are texts."""

from __future__ import annotations

from decimal import Decimal

from django import template

from engagements.money import format_money

register = template.Library()


@register.filter
def said(amount: str, currency: str) -> str:
    """A frozen amount ("12000.00") in its currency's own form."""
    return format_money(Decimal(amount), currency)
