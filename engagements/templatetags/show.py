"""Format figures, times and states on pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from engagements.audit.rules import Interval
from engagements.common import ratios
from engagements.common.money import format_money

register = template.Library()

NOT_MEASURED = "–"
_ONE_PERCENT = 0.01

TONES = {
    "good": {
        "met",
        "finished",
        "accepted",
        "released",
        "paid",
        "pass",
        "custom",
        "closed",
        "read",
        "holds",
        "idle",
    },
    "bad": {"missed", "failed", "fail", "declined", "decline", "unreadable", "does not hold"},
    "doubt": {
        "inconclusive",
        "redirect",
        "redirected",
        "terminated",
        "unknown",
        "proposed",
        "holds under conditions",
        "silent",
    },
    "foul": {"disqualified", "invalid"},
    "live": {
        "reading",
        "running",
        "active",
        "auditing",
        "offered",
        "approved",
        "paying",
        "billed",
        "measuring",
    },
}
TONE_OF = {value: tone for tone, values in TONES.items() for value in values}


def tone_of(value: str) -> str:
    """The tone of a state, verdict or outcome: good, bad, doubt, foul, live or plain."""
    return TONE_OF.get(value, "plain")


@register.inclusion_tag("fragments/_badge.html")
def badge(value: str, label: str) -> dict[str, str]:
    """Render a state as a badge; its value decides the tone."""
    return {"tone": tone_of(value), "label": label}


@register.filter
def tone(value: str) -> str:
    """The tone of a state, for a class name."""
    return tone_of(value)


@register.filter
def money(amount: Decimal | None, currency: str) -> str:
    """Format an amount in its currency; a dash for none."""
    if amount is None:
        return NOT_MEASURED
    return format_money(amount, currency).replace("-", "−")


@register.filter
def figure(amount: Decimal | None, currency: str) -> str:
    """Format an amount without its currency, which the heading of its table names."""
    return money(amount, currency).replace(f"{currency}\u00a0", "")


@register.filter
def ratio(value: float | Decimal | None) -> str:
    """Format a speedup as 2.41×; a dash for none."""
    return ratios.measured(value, unknown=NOT_MEASURED)


@register.filter
def with_sign(text: str) -> str:
    """Write speedups in the referee's text with ×."""
    return ratios.with_sign(text)


@register.filter
def within_quotes(text: str) -> str:
    """Replace double quotation marks in quoted text by single ones."""
    return re.sub(r'“([^”]*)”|"([^"]*)"', lambda found: f"\u2018{found[1] or found[2]}\u2019", text)


@register.filter
def microseconds(value: float | None) -> str:
    """Format a time per call in µs, ms or s; a dash for none."""
    if value is None:
        return NOT_MEASURED
    if value >= 1_000_000:
        return f"{value / 1_000_000:.2f} s"
    return f"{value / 1000:.2f} ms" if value >= 1000 else f"{value:.1f} µs"


@register.filter
def seconds(value: float | None) -> str:
    """Format a duration in seconds, or minutes and seconds."""
    if value is None:
        return NOT_MEASURED
    whole = round(value)
    return f"{value:.1f} s" if value < 60 else f"{whole // 60} min {whole % 60} s"


@register.filter
def share(value: float | None) -> str:
    """Format a share of 1 as a percentage with up to 4 digits."""
    return NOT_MEASURED if value is None else f"{value * 100:.4g}%"


@register.filter
def percent(value: float | None) -> str:
    """Format a share of 1 as a whole percentage; below 1% with a decimal, never as 0%."""
    if value is None:
        return NOT_MEASURED
    if 0 < value < _ONE_PERCENT:
        return "under 0.1%" if value < _ONE_PERCENT / 10 else f"{value:.1%}"
    return f"{value:.0%}"


@register.filter
def tenths(value: float | None) -> str:
    """Format a share of 1 as a percentage with one decimal; a dash for none."""
    return NOT_MEASURED if value is None else f"{value:.1%}"


@register.filter
def signed_tenths(value: float | None) -> str:
    """Format a difference of shares in percentage points, as +1.2; a dash for none."""
    return NOT_MEASURED if value is None else f"{value * 100:+.1f}".replace("-", "\u2212")


@register.filter
def kibibytes(value: int | None) -> str:
    """Format a size in KiB, MiB or GiB."""
    if value is None:
        return NOT_MEASURED
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if value >= size:
            return f"{value / size:.1f} {unit}"
    return f"{value / 1024:.1f} KiB"


@register.filter
def get(values: dict[str, object], name: str) -> object:
    """Look a value up in a dictionary; None if missing."""
    return values.get(name)


@register.filter
def interval(value: Interval | None, unknown: str = NOT_MEASURED) -> str:
    """Format an interval as 1.40× to 1.80×, or one ratio; `unknown` for none."""
    if value is None:
        return unknown
    low, high = ratio(value.low), ratio(value.high)
    return low if low == high else f"{low} to {high}"


@register.filter
def beside(cells: Sequence[object], columns: Sequence[object]) -> list[tuple[object, object]]:
    """Pair each cell of a row with its column."""
    return list(zip(cells, columns, strict=True))


@register.filter
def short_digest(value: str) -> str:
    """Shorten a digest to its head and tail."""
    _, _, hexadecimal = value.rpartition(":")
    return f"{hexadecimal[:8]}…{hexadecimal[-4:]}" if len(hexadecimal) > 20 else value


@register.simple_tag
def moment(value: datetime | None) -> SafeString | str:
    """Format a point in time in a `time` element."""
    if value is None:
        return NOT_MEASURED
    local = timezone.localtime(value)
    words = f"{local.day} {local:%b %Y, %H:%M}"
    return format_html('<time datetime="{}" title="{}">{}</time>', value.isoformat(), words, words)


@register.simple_tag
def day(value: date | None) -> SafeString | str:
    """Format a date in a `time` element."""
    if value is None:
        return NOT_MEASURED
    words = f"{value.day} {value:%b %Y}"
    return format_html('<time datetime="{}">{}</time>', value.isoformat(), words)
