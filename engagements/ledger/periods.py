"""Closing months: from then on nothing is dated into them, or before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from engagements.access import require_finance
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.ledger.models import MonthTotal, Period
from engagements.people.models import User


@dataclass(frozen=True)
class Closing:
    """What closing a month would do: which months it closes, and why it cannot, if so."""

    month: date
    months: tuple[date, ...]
    obstacle: str | None


def preview(*, month: date) -> Closing:
    """What closing `month` (any day of it) now would come to."""
    first = month.replace(day=1)
    return Closing(month=first, months=_open_months(first), obstacle=_obstacle(first))


@transaction.atomic
def close(*, month: date, by: User) -> Period:
    """Close a month that is over, and every one before it. Closed already, it stays closed."""
    require_finance(by)
    first = month.replace(day=1)
    known = Period.objects.filter(month=first).first()
    if known:
        return known
    hindrance = _obstacle(first)
    if hindrance:
        raise ApplicationError(hindrance, code="ledger.todo")
    try:
        with transaction.atomic():
            return Period.objects.create(month=first, closed_by=by)
    except IntegrityError as error:
        raise ApplicationError(f"{first:%B %Y} is closed already.", code="ledger.todo") from error


def last_closed() -> date | None:
    """The first day of the last closed month."""
    return Period.objects.values_list("month", flat=True).first()


def _obstacle(first: date) -> str | None:
    closed = last_closed()
    if closed and first <= closed:
        return f"{first:%B %Y} is closed already."
    following = next_month(first)
    if following > timezone.localdate():
        return f"{first:%B %Y} is not over yet: it can be closed from {in_words(following)} on."
    return None


def _open_months(first: date) -> tuple[date, ...]:
    """Every month with entries that closing `first` would close, and `first` itself."""
    months = MonthTotal.objects.filter(month__lte=first)
    closed = last_closed()
    if closed:
        months = months.filter(month__gt=closed)
    return tuple(sorted({first, *months.values_list("month", flat=True).distinct()}))


def next_month(first: date) -> date:
    """The first day of the month after the one that `first` begins."""
    return (first + timedelta(days=31)).replace(day=1)
