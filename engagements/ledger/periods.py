"""Close months: entries can no longer be dated in them or earlier."""

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
    """The months that closing a month would close; `blocking_reason` is empty if it can."""

    month: date
    months: tuple[date, ...]
    blocking_reason: str


def preview(*, month: date) -> Closing:
    """Preview closing a month, given by any of its days."""
    first = month.replace(day=1)
    reason = _blocking_reason(first)
    return Closing(month=first, months=_open_months(first), blocking_reason=reason)


@transaction.atomic
def close(*, month: date, by: User) -> Period:
    """Close a past month and every earlier one. Idempotent."""
    require_finance(by)
    first = month.replace(day=1)
    known = Period.objects.filter(month=first).first()
    if known:
        return known
    reason = _blocking_reason(first)
    if reason:
        raise ApplicationError(reason, code="period.cannot_close")
    try:
        with transaction.atomic():
            return Period.objects.create(month=first, closed_by=by)
    except IntegrityError as error:
        message = f"{first:%B %Y} is already closed."
        raise ApplicationError(message, code="period.closed") from error


def last_closed() -> date | None:
    """The first day of the latest closed month."""
    return Period.objects.values_list("month", flat=True).first()


def _blocking_reason(first: date) -> str:
    closed = last_closed()
    if closed and first <= closed:
        return f"{first:%B %Y} is already closed."
    following = next_month(first)
    if following > timezone.localdate():
        return f"{first:%B %Y} can be closed from {in_words(following)}."
    return ""


def _open_months(first: date) -> tuple[date, ...]:
    """The open months with entries up to `first`, and `first` itself."""
    months = MonthTotal.objects.filter(month__lte=first)
    closed = last_closed()
    if closed:
        months = months.filter(month__gt=closed)
    return tuple(sorted({first, *months.values_list("month", flat=True).distinct()}))


def next_month(first: date) -> date:
    """The first day of the following month."""
    return (first + timedelta(days=31)).replace(day=1)
