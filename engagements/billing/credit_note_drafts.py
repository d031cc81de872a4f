"""Credit notes by people: one drafts, and above the limit another issues."""

from __future__ import annotations

from decimal import Decimal

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet, Sum

from engagements.access import require_finance
from engagements.billing import credit_notes, issuing
from engagements.billing.models import Invoice
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.engagement import stages
from engagements.engagement.models import Engagement
from engagements.event_log import events
from engagements.people import second_person
from engagements.people.models import User

Kind, State = Invoice.Kind, Invoice.State


@transaction.atomic
def draft(
    *,
    invoice: Invoice,
    reason: str,
    by: User,
    net: Decimal | None = None,
    expected_credited: Decimal | None = None,
    bill_again: bool = False,
) -> Invoice:
    """Credit `net` (without tax) of an issued invoice, or draft the note above the limit.

    None credits the rest. The limit is one person's for all credit notes of the invoice together,
    including tax. `expected_credited` is the net amount already credited when the form was shown:
    after a change, the same request returns its note, any other is declined.
    """
    engagement = stages.locked(invoice.engagement_id)
    require_finance(by)
    reason = validation.text(reason, noun="The reason for the credit note")
    original = credit_notes.correctable(invoice, engagement)
    known = _issued(original, expected_credited, net=net, reason=reason)
    if known:
        return known
    parts = credit_notes.preview_credit(invoice=original, net=net)
    total = sum((part.net for part in parts), Decimal(0))
    known = original.credit_notes.filter(
        state=State.DRAFT, drafted_by=by, reason=reason, net=total, bill_again=bill_again
    ).first()
    if known:
        return known
    note = credit_notes.saved_draft(original, parts, reason, bill_again=bill_again, by=by)
    if may_credit_alone(original, note.gross):
        return credit_notes.post(note, engagement, by=by)
    _record_drafted(note, engagement, by)
    return note


@transaction.atomic
def issue(*, note: Invoice, by: User) -> Invoice:
    """Issue a draft credit note, as another person than its drafter. Idempotent."""
    engagement = stages.locked(note.engagement_id)
    require_finance(by)
    row = issuing.reload(note, engagement)
    if row.is_issued:
        return row
    second_person.require(
        by=by,
        others=[row.drafted_by_id],
        subject=row.subject,
        code="credit_note.same_person",
        message="You drafted this credit note: another person of finance issues it.",
    )
    return credit_notes.post(row, engagement, by=by)


def is_own(note: Invoice, *, by: User) -> bool:
    """Whether `by` drafted the note, so that another person issues it."""
    return second_person.is_missing(by=by, others=[note.drafted_by_id], subject=note.subject)


def waiting() -> QuerySet[Invoice]:
    """Draft credit notes, which another person of finance issues."""
    rows = Invoice.objects.filter(kind=Kind.CREDIT_NOTE, state=State.DRAFT)
    return rows.select_related("corrects", "drafted_by").order_by("pk")


def may_credit_alone(invoice: Invoice, gross: Decimal) -> bool:
    """Whether one person may credit this amount, beside what was so credited before."""
    alone = invoice.credit_notes.filter(state=State.ISSUED, issued_by=F("drafted_by"))
    credited = alone.aggregate(total=Sum("gross"))["total"] or Decimal(0)
    return bool(credited + gross <= settings.WRITE_OFF_LIMIT)


def _issued(
    original: Invoice, expected: Decimal | None, *, net: Decimal | None, reason: str
) -> Invoice | None:
    """The note that an earlier, identical request issued."""
    if expected is None:
        return None
    notes = list(original.credit_notes.filter(state=State.ISSUED).order_by("pk"))
    credited = sum((note.net for note in notes), Decimal(0))
    if credited == expected:
        return None
    last = notes[-1] if notes else None
    is_repeated = last and (credited - last.net, last.reason) == (expected, reason)
    if last and is_repeated and net in (None, last.net):
        return last
    raise ApplicationError(
        f"{original.reference} was credited while you were looking; review it again.",
        code="credit_note.stale",
    )


def _record_drafted(note: Invoice, engagement: Engagement, by: User) -> None:
    shown = format_money(note.gross, note.currency)
    events.record(
        engagement=engagement,
        verb="credit_note.drafted",
        summary=f"Credit note of {shown} including tax on {note.corrects}: drafted. {note.reason}",
        actor=by,
        changes={"invoice": note.pk, "gross": str(note.gross)},
    )
