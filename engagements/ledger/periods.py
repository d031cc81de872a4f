"""Close and reopen months, by two people: no entry is dated in a closed month or before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from django.db import connection, transaction
from django.utils import timezone

from engagements.access import require_finance
from engagements.common import validation
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.event_log import events
from engagements.ledger.models import MonthTotal
from engagements.ledger.period_models import Period, PeriodReopening
from engagements.people import second_person
from engagements.people.models import User

State, Reopening = Period.State, PeriodReopening.State
# The label of a check, and its number of open items.
Checklist = Sequence[tuple[str, int]]


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
def propose(*, month: date, checklist: Checklist, note: str, by: User) -> Period:
    """Propose to close a past month and every earlier one. Idempotent while it waits.

    `checklist` is that of the month; `note` is required where it has open items.
    """
    require_finance(by)
    first = month.replace(day=1)
    _lock()
    waiting = Period.objects.filter(state=State.PROPOSED).first()
    if waiting is not None and waiting.month == first:
        return waiting
    reason = _blocking_reason(first)
    if reason:
        raise ApplicationError(reason, code="period.cannot_close")
    if waiting is not None:
        raise ApplicationError(
            f"The closing of {waiting.month:%B %Y} is proposed: approve or void it first.",
            code="period.another_proposed",
        )
    if any(count for _, count in checklist) and not note.strip():
        raise ApplicationError(
            "Enter why the month can be closed with open items.", code="period.note_required"
        )
    row = Period(
        month=first,
        checklist=[list(check) for check in checklist],
        note=note.strip(),
        proposed_by=by,
    )
    validation.save_validated(row)
    _record(row, by)
    return row


@transaction.atomic
def approve(*, period: Period, checklist: Checklist, by: User) -> Period:
    """Close a proposed month. The proposer may not approve it. Idempotent.

    Declined where `checklist`, that of the month now, has more open items than at the proposal.
    """
    require_finance(by)
    _lock()
    row = Period.objects.get(pk=period.pk)
    if not second_person.may_decide(row, to=State.CLOSED, by=by):
        return row
    known = dict(row.checklist)
    if any(count > known.get(label, 0) for label, count in checklist):
        raise ApplicationError(
            "The checklist has further open items: void this closing and propose it again.",
            code="period.checklist_changed",
        )
    second_person.decide(row, to=State.CLOSED, by=by)
    _record(row, by)
    return row


@transaction.atomic
def void(*, period: Period, by: User) -> Period:
    """Void a proposed closing. Idempotent."""
    require_finance(by)
    _lock()
    row = Period.objects.get(pk=period.pk)
    if second_person.may_decide(row, to=State.VOIDED, by=by):
        second_person.decide(row, to=State.VOIDED, by=by)
        _record(row, by)
    return row


@transaction.atomic
def propose_reopening(*, period: Period, reason: str, by: User) -> PeriodReopening:
    """Propose to reopen the latest closed month. Idempotent while it waits."""
    require_finance(by)
    why = validation.text(reason, noun="The reason")
    _lock()
    row = Period.objects.get(pk=period.pk)
    waiting = row.reopenings.filter(state=Reopening.PROPOSED).first()
    if waiting is not None:
        return waiting
    _require_latest(row)
    reopening = PeriodReopening(period=row, reason=why, proposed_by=by)
    validation.save_validated(reopening)
    _record(reopening, by)
    return reopening


@transaction.atomic
def approve_reopening(*, reopening: PeriodReopening, by: User) -> PeriodReopening:
    """Reopen the month. The proposer may not approve it. Idempotent."""
    require_finance(by)
    _lock()
    row = PeriodReopening.objects.select_related("period").get(pk=reopening.pk)
    if not second_person.may_decide(row, to=Reopening.POSTED, by=by):
        return row
    _require_latest(row.period)
    second_person.decide(row, to=Reopening.POSTED, by=by)
    row.period.state = State.REOPENED
    validation.save_validated(row.period)
    _record(row, by)
    return row


@transaction.atomic
def void_reopening(*, reopening: PeriodReopening, by: User) -> PeriodReopening:
    """Void a proposed reopening: the month stays closed. Idempotent."""
    require_finance(by)
    _lock()
    row = PeriodReopening.objects.get(pk=reopening.pk)
    if second_person.may_decide(row, to=Reopening.VOIDED, by=by):
        second_person.decide(row, to=Reopening.VOIDED, by=by)
        _record(row, by)
    return row


def last_closed() -> date | None:
    """The first day of the latest closed month."""
    closed = Period.objects.filter(state=State.CLOSED)
    return closed.values_list("month", flat=True).first()


def _lock() -> None:
    """Wait until every posting has ended, as the triggers do: one closing at a time."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(202603, 1)")


def _record(row: Period | PeriodReopening, by: User) -> None:
    """Record the step that `by` took in the log of finance."""
    if isinstance(row, Period):
        month, why = row.month, row.note
    else:
        month, why = row.period.month, row.reason
    events.record_finance(
        verb=f"{row.KIND}.{row.state}",
        summary=f"{row.NOUN.capitalize()} of {month:%B %Y}: {row.get_state_display().lower()}. "
        f"{why}".strip(),
        actor=by,
        changes={
            row.KIND: row.pk,
            "month": f"{month:%Y-%m}",
            "proposed_by": row.proposed_by_id,
            "approved_by": row.approved_by_id,
        },
    )


def _require_latest(period: Period) -> None:
    if period.state != State.CLOSED or period.month != last_closed():
        raise ApplicationError(
            "Only the latest closed month can be reopened.", code="period.not_the_latest"
        )


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
