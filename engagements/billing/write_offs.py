"""Write-offs: propose, approve, void, and reverse before a settlement.

A write-off is dated on the day it was decided: approved, or posted by one person up to the limit.
No bank moves money then, so there is no value date. Its reversal is dated on the settlement's day.
"""

from __future__ import annotations

from decimal import Decimal

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from engagements.access import require_finance
from engagements.billing import postings
from engagements.billing.balances import balance_of
from engagements.billing.models import Invoice
from engagements.billing.write_off_models import WriteOff
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.engagement import stages
from engagements.engagement.models import Engagement
from engagements.event_log import events
from engagements.people import second_person
from engagements.people.models import User

State, Kind = WriteOff.State, WriteOff.Kind


@transaction.atomic
def propose(*, invoice: Invoice, kind: str, amount: Decimal, reason: str, by: User) -> WriteOff:
    """Write off a part of an open invoice (gross), or propose it above the limit.

    The limit is one person's for all write-offs of the invoice together. A negative amount is an
    exchange gain on an overpaid invoice. Idempotent for the same proposal.
    """
    engagement = stages.locked(invoice.engagement_id)
    require_finance(by)
    row = WriteOff(
        invoice=Invoice.objects.get(pk=invoice.pk),
        kind=kind,
        amount=validation.amount(amount, invoice.currency, noun="The amount"),
        limit=settings.WRITE_OFF_LIMIT,
        reason=validation.text(reason, noun="The reason"),
        proposed_by=by,
    )
    known = invoice.write_offs.filter(
        state=State.PROPOSED, kind=kind, amount=row.amount, proposed_by=by
    ).first()
    if known:
        return known
    _require_open(row)
    validation.save_validated(row)
    if abs(row.amount) + written_off_alone(row.invoice) <= row.limit:
        return _post(row, engagement, by)
    _record(row, engagement, by)
    return row


@transaction.atomic
def approve(*, write_off: WriteOff, by: User) -> WriteOff:
    """Post a proposed write-off. The proposer may not approve it. Idempotent."""
    row, engagement = _locked(write_off)
    require_finance(by)
    if not second_person.may_decide(row, to=State.POSTED, by=by):
        return row
    _require_open(row)
    return _post(row, engagement, by, is_approved=True)


@transaction.atomic
def void(*, write_off: WriteOff, reason: str, by: User) -> WriteOff:
    """Void a proposed write-off. Idempotent."""
    row, engagement = _locked(write_off)
    require_finance(by)
    if not second_person.may_decide(row, to=State.VOIDED, by=by):
        return row
    return _end(row, engagement, State.VOIDED, validation.text(reason, noun="The reason"), by)


def written_off_alone(invoice: Invoice) -> Decimal:
    """The sum written off an invoice without a second person."""
    rows = invoice.write_offs.filter(state=State.POSTED, approved_by__isnull=True)
    return sum((abs(row.amount) for row in rows), Decimal(0))


def reverse_all(*, engagement: Engagement, reason: str) -> None:
    """End the write-offs of a locked engagement: its settlement counts all payments.

    Those of charges stay.
    """
    fee = WriteOff.objects.filter(invoice__engagement=engagement, invoice__charge__isnull=True)
    _reverse(fee, reason)


def reverse_overpaid(*, invoice: Invoice, reason: str) -> None:
    """End the losses written off of a locked invoice that is overpaid or credited beyond them.

    Otherwise the customer would be refunded what was written off. What then stays open may be
    written off again.
    """
    losses = WriteOff.objects.filter(invoice=invoice, amount__gt=0)
    if losses.filter(state=State.POSTED).exists() and balance_of(invoice).open_amount < 0:
        _reverse(losses, reason)


def _reverse(write_offs: QuerySet[WriteOff], reason: str) -> None:
    rows = write_offs.select_related("invoice__engagement")
    for row in rows.filter(state=State.POSTED).order_by("pk"):
        _end(row, row.invoice.engagement, State.REVERSED, reason, None)
        postings.write_off_reversed(row)
    for row in rows.filter(state=State.PROPOSED).order_by("pk"):
        _end(row, row.invoice.engagement, State.VOIDED, reason, None)


def _locked(write_off: WriteOff) -> tuple[WriteOff, Engagement]:
    engagement = stages.locked(write_off.invoice.engagement_id)
    row = WriteOff.objects.select_related("invoice").get(pk=write_off.pk)
    row.invoice.engagement = engagement
    return row, engagement


def _require_open(row: WriteOff) -> None:
    balance = balance_of(row.invoice)
    largest = balance.max_payment if row.amount > 0 else max(-balance.open_amount, Decimal(0))
    if balance.is_held or abs(row.amount) > largest:
        shown = format_money(largest, row.invoice.currency)
        raise ApplicationError(
            f"{row.invoice.reference} has {shown} open: enter at most that.",
            code="write_off.exceeds_open_amount",
        )


def _post(
    row: WriteOff, engagement: Engagement, by: User, *, is_approved: bool = False
) -> WriteOff:
    row.invoice.engagement = engagement
    second_person.decide(row, to=State.POSTED, by=by if is_approved else None)
    postings.written_off(row)
    _record(row, engagement, by)
    return row


def _end(
    row: WriteOff, engagement: Engagement, state: WriteOff.State, reason: str, by: User | None
) -> WriteOff:
    row.state, row.ended_by, row.end_reason = state, by, reason
    row.decided_at = row.decided_at or timezone.now()
    validation.save_validated(row)
    _record(row, engagement, by)
    return row


def _record(row: WriteOff, engagement: Engagement, by: User | None) -> None:
    shown = format_money(row.amount, row.invoice.currency)
    events.record(
        engagement=engagement,
        verb=f"write_off.{row.state}",
        summary=f"{row.get_kind_display()} of {shown} on {row.invoice.reference}: "
        f"{row.get_state_display().lower()}. {row.end_reason or row.reason}",
        actor=by,
        changes={"write_off": row.pk, "invoice": row.invoice_id, "amount": str(row.amount)},
    )
