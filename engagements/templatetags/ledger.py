"""How amounts of the ledger are written: debit positive, credit negative."""

from __future__ import annotations

from decimal import Decimal

from django import template

from engagements.common.money import format_money

register = template.Library()


@register.filter
def opposite(amount: Decimal) -> Decimal:
    """The same amount on the other side."""
    return -amount


@register.filter
def side(amount: Decimal, currency: str) -> str:
    """A balance with the side that it stands on, as accountants write it: EUR 10.00 Cr."""
    if not amount:
        return format_money(amount, currency)
    return f"{format_money(abs(amount), currency)}\u00a0{'Dr' if amount > 0 else 'Cr'}"
