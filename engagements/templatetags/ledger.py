"""Format ledger amounts: debit positive, credit negative."""

from __future__ import annotations

from decimal import Decimal

from django import template

from engagements.common.money import format_money

register = template.Library()


@register.filter
def opposite(amount: Decimal) -> Decimal:
    """Negate an amount."""
    return -amount


@register.filter
def side(amount: Decimal, currency: str) -> str:
    """Format a balance with its side: EUR 10.00 Cr."""
    if not amount:
        return format_money(amount, currency)
    return f"{format_money(abs(amount), currency)}\u00a0{'Dr' if amount > 0 else 'Cr'}"


@register.filter
def bare_side(amount: Decimal, currency: str) -> str:
    """Format a balance with its side in a table whose heading names the currency: 10.00 Cr."""
    return side(amount, currency).replace(f"{currency}\u00a0", "")
