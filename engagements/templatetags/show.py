"""How figures, moments and states are written on every page."""

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
    },
    "bad": {"missed", "failed", "fail", "declined", "decline", "unreadable", "does not hold"},
    "doubt": {
        "inconclusive",
        "redirect",
        "redirected",
        "unknown",
        "proposed",
        "holds under conditions",
    },
    "foul": {"disqualified", "invalid"},
    "live": {"reading", "running", "active", "auditing", "offered", "approved", "paying", "billed"},
}
TONE_OF = {value: tone for tone, values in TONES.items() for value in values}


def tone_of(value: str) -> str:
    """The tone of a state, verdict or outcome: good, bad, doubt, foul, live or plain."""
    return TONE_OF.get(value, "plain")


@register.inclusion_tag("fragments/_badge.html")
def badge(value: str, label: str) -> dict[str, str]:
    """A state as a badge: its stored value decides the tone, its label is shown."""
    return {"tone": tone_of(value), "label": label}


@register.filter
def tone(value: str) -> str:
    """The tone of a state, for a class name."""
    return tone_of(value)


@register.filter
def money(amount: Decimal | None, currency: str) -> str:
    """An amount in its currency's own form, with a true minus; a dash where there is none."""
    if amount is None:
        return NOT_MEASURED
    return format_money(amount, currency).replace("-", "−")


@register.filter
def ratio(value: float | Decimal | None) -> str:
    """A speedup with two decimals and its sign, as 2.41×; a dash where nothing was measured."""
    return ratios.measured(value, unknown=NOT_MEASURED)


@register.filter
def with_sign(text: str) -> str:
    """The referee's words, with the speedups in them written as on every page."""
    return ratios.with_sign(text)


@register.filter
def within_quotes(text: str) -> str:
    """Words that stand between quotation marks: their own become single ones."""
    return re.sub(r'“([^”]*)”|"([^"]*)"', lambda found: f"\u2018{found[1] or found[2]}\u2019", text)


@register.filter
def microseconds(value: float | None) -> str:
    """A time per call in the unit that keeps it readable; a dash where not measured."""
    if value is None:
        return NOT_MEASURED
    if value >= 1_000_000:
        return f"{value / 1_000_000:.2f} s"
    return f"{value / 1000:.2f} ms" if value >= 1000 else f"{value:.1f} µs"


@register.filter
def seconds(value: float | None) -> str:
    """A duration in seconds, or minutes and seconds."""
    if value is None:
        return NOT_MEASURED
    whole = round(value)
    return f"{value:.1f} s" if value < 60 else f"{whole // 60} min {whole % 60} s"


@register.filter
def share(value: float | None) -> str:
    """A share of 1 as a percentage without needless decimals."""
    return NOT_MEASURED if value is None else f"{value * 100:.4g}%"


@register.filter
def percent(value: float | None) -> str:
    """A share of 1 as a whole percentage; what is less than one has a decimal, and is never 0%."""
    if value is None:
        return NOT_MEASURED
    if 0 < value < _ONE_PERCENT:
        return "under 0.1%" if value < _ONE_PERCENT / 10 else f"{value:.1%}"
    return f"{value:.0%}"


@register.filter
def tenths(value: float | None) -> str:
    """A share of 1 as a percentage with one decimal, for columns; a dash where not measured."""
    return NOT_MEASURED if value is None else f"{value:.1%}"


@register.filter
def kibibytes(value: int | None) -> str:
    """A size in KiB, MiB or GiB."""
    if value is None:
        return NOT_MEASURED
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if value >= size:
            return f"{value / size:.1f} {unit}"
    return f"{value / 1024:.1f} KiB"


@register.filter
def get(values: dict[str, object], name: str) -> object:
    """One value of a dictionary by a name that is no identifier; None where it is missing."""
    return values.get(name)


@register.filter
def interval(value: Interval | None, unknown: str = NOT_MEASURED) -> str:
    """A ratio, or from where to where, as 1.40× to 1.80×; a dash, or `unknown`, without one."""
    if value is None:
        return unknown
    low, high = ratio(value.low), ratio(value.high)
    return low if low == high else f"{low} to {high}"


@register.filter
def beside(cells: Sequence[object], columns: Sequence[object]) -> list[tuple[object, object]]:
    """Each cell of a row with its column."""
    return list(zip(cells, columns, strict=True))


@register.filter
def short_digest(value: str) -> str:
    """The head and tail of a digest, enough to compare by eye."""
    _, _, hexadecimal = value.rpartition(":")
    return f"{hexadecimal[:8]}…{hexadecimal[-4:]}" if len(hexadecimal) > 20 else value


@register.simple_tag
def moment(value: datetime | None) -> SafeString | str:
    """A point in time, machine-readable beside the words."""
    if value is None:
        return NOT_MEASURED
    local = timezone.localtime(value)
    words = f"{local.day} {local:%b %Y, %H:%M}"
    return format_html('<time datetime="{}" title="{}">{}</time>', value.isoformat(), words, words)


@register.simple_tag
def day(value: date | None) -> SafeString | str:
    """A calendar day, machine-readable beside the words."""
    if value is None:
        return NOT_MEASURED
    words = f"{value.day} {value:%b %Y}"
    return format_html('<time datetime="{}">{}</time>', value.isoformat(), words)
