"""Refunds of overpayments: proposed by one person of finance, sent by another.

A sent refund leaves its invoice at once, by SEPA file or by hand. A failed transfer returns the
money to the invoice.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from engagements.access import require_finance
from engagements.billing import postings as payment_postings
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.billing.reopening import reopen
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.engagement import stages
from engagements.engagement.models import Engagement
from engagements.event_log import events
from engagements.ledger import effects
from engagements.ledger.models import Entry
from engagements.payouts import postings, refund_accounts, refunds
from engagements.payouts.models import Transfer, TransferFile
from engagements.payouts.overpayment_models import OverpaymentRefund
from engagements.payouts.overpayments import positive_amount, require_overpaid, withdraw
from engagements.people import second_person
from engagements.people.models import User
from engagements.settlements.calculation import PlannedEntry

State = OverpaymentRefund.State


def preview(*, invoice: Invoice, amount: Decimal) -> list[PlannedEntry]:
    """Return the ledger entries of refunding `amount`: when it is sent, and when it is paid."""
    position = payment_postings.position_of(invoice)
    about = invoice.engagement.reference
    return [
        PlannedEntry(Entry.Kind.PAYMENT_PAID_BACK, about, effects.paid_back(position, amount)),
        PlannedEntry(Entry.Kind.OVERPAYMENT_REFUND_PAID, about, effects.transferred(amount)),
    ]


@transaction.atomic
def propose(*, invoice: Invoice, amount: Decimal, by: User) -> OverpaymentRefund:
    """Propose to refund `amount` (gross) of an overpayment.

    Idempotent for the same person and amount; declined while another refund is open.
    """
    engagement = stages.locked(invoice.engagement_id)
    require_finance(by)
    amount = positive_amount(invoice, amount)
    existing = invoice.overpayment_refunds.filter(state__in=OverpaymentRefund.OPEN).first()
    if existing:
        requested = (State.PROPOSED, amount, by.pk)
        if (existing.state, existing.amount, existing.proposed_by_id) == requested:
            return existing
        raise ApplicationError(
            f"Another refund of {invoice.reference} is open: complete or void it first.",
            code="overpayment_refund.already_proposed",
        )
    row = OverpaymentRefund(
        invoice=Invoice.objects.get(pk=invoice.pk), amount=amount, proposed_by=by
    )
    row.invoice.engagement = engagement
    require_overpaid(row.invoice, amount)
    validation.save_validated(row)
    _record(row, engagement, "refund proposed", by)
    return row


@transaction.atomic
def send(
    *,
    refund: OverpaymentRefund,
    by: User,
    file: TransferFile | None = None,
) -> OverpaymentRefund:
    """Start the transfer of a proposed refund. The proposer may not send it.

    With `file` the transfer is by SEPA, otherwise by hand. The money leaves the invoice.
    """
    row, engagement = locked(refund)
    require_finance(by)
    if row.state in (State.PAYING, State.PAID):
        return row
    _require_state(row, State.PROPOSED, to="to be sent")
    second_person.require_another(row, by=by, step="sends it")
    account = refund_accounts.account_for(
        engagement.customer, by=by, approver=None, subject=row.subject
    )
    require_overpaid(row.invoice, row.amount)
    row.left = withdraw(row.invoice, Payment.Kind.PAID_BACK, row.amount, end_to_end_id(row), by)
    row.state, row.sent_by, row.sent_at = State.PAYING, by, timezone.now()
    row.method = Transfer.Method.SEPA if file else Transfer.Method.BY_HAND
    row.file, row.account = file, account
    if account:
        row.payee, row.iban, row.bic = account.holder, account.iban, account.bic
    validation.save_validated(row)
    _record(row, engagement, "refund on its way", by, for_customer=True)
    payment_postings.payment_paid_back(row.left)
    return row


@transaction.atomic
def mark_paid(
    *, refund: OverpaymentRefund, reference: str, by: User, valued_on: date | None = None
) -> OverpaymentRefund:
    """Confirm the transfer under the bank's `reference`.

    `valued_on` is the bank's value date; None for today.
    """
    row, _ = locked(refund)
    day = refunds.value_date(valued_on, not_before=row.proposed_at)
    return _mark_paid(row, reference, by=by, valued_on=day)


@transaction.atomic
def confirm_executed(
    *, refund: OverpaymentRefund, reference: str, valued_on: date, by: User
) -> OverpaymentRefund:
    """Mark a refund as paid, by the reference and value date of its bank line."""
    return _mark_paid(refund, reference, by=by, valued_on=valued_on)


def _mark_paid(
    refund: OverpaymentRefund, reference: str, *, by: User, valued_on: date
) -> OverpaymentRefund:
    row, engagement = locked(refund)
    require_finance(by)
    reference = validation.text(reference, noun="The payment reference")
    if row.state == State.PAID:
        if row.reference != reference:
            raise ApplicationError(
                f"This refund is already paid under {row.reference}.",
                code="overpayment_refund.already_paid",
            )
        return row
    _require_state(row, State.PAYING, to="to be marked as paid")
    row.reference = reference
    row.valued_on = valued_on
    _end(row, State.PAID, by)
    _record(row, engagement, f"refunded, reference {reference}", by, for_customer=True)
    postings.overpayment_refund_paid(row)
    return row


@transaction.atomic
def mark_failed(
    *, refund: OverpaymentRefund, reason: str, by: User, valued_on: date | None = None
) -> OverpaymentRefund:
    """Record that the bank did not make the transfer: the money returns to the invoice.

    `valued_on` is the value date of the bank line that returned it; None for today.
    """
    row, engagement = locked(refund)
    require_finance(by)
    if row.state == State.FAILED:
        return row
    row.end_reason = validation.text(reason, noun="The reason")
    _require_state(row, State.PAYING, to="to be marked as failed")
    _require_another_than_sender(row, by)
    returned = _fail(row, engagement, by, valued_on)
    payment_postings.payment_came_back(returned)
    return row


@transaction.atomic
def record_return(
    *, refund: OverpaymentRefund, reason: str, by: User, valued_on: date | None = None
) -> OverpaymentRefund:
    """Fail a refund that a bank line returns, under way or paid. Another may be proposed.

    A closed engagement is reopened.
    """
    row, engagement = locked(refund)
    if row.state != State.PAID:
        return mark_failed(refund=row, reason=reason, by=by, valued_on=valued_on)
    require_finance(by)
    _require_another_than_sender(row, by)
    row.end_reason = validation.text(reason, noun="The reason")
    returned = _fail(row, engagement, by, valued_on)
    postings.overpayment_refund_returned(row, dated_on=returned.received_on)
    reopen(engagement, reason="the bank returned a refund", by=by)
    return row


def _require_another_than_sender(refund: OverpaymentRefund, by: User) -> None:
    """Require another person than the sender to fail a refund: another may then be sent."""
    second_person.require(
        by=by,
        others=[refund.sent_by_id],
        subject=refund.subject,
        code="refund.same_person",
        message="You sent this refund: another person of finance records that it failed.",
    )


def _fail(
    row: OverpaymentRefund, engagement: Engagement, by: User, valued_on: date | None
) -> Payment:
    assert row.left is not None  # set when it was sent
    returned = Payment(
        invoice=row.invoice,
        kind=Payment.Kind.CAME_BACK,
        amount=row.amount,
        received_on=valued_on or timezone.localdate(),
        reference=f"{row.left.reference} failed",
        moved_from=row.left,
        recorded_by=by,
    )
    validation.save_validated(returned)
    _end(row, State.FAILED, by)
    _record(row, engagement, f"refund failed: {row.end_reason}", by)
    return returned


@transaction.atomic
def void(*, refund: OverpaymentRefund, reason: str, by: User) -> OverpaymentRefund:
    """Void a proposal before any money moves. Another may then be made."""
    row, engagement = locked(refund)
    require_finance(by)
    if row.state == State.VOIDED:
        return row
    row.end_reason = validation.text(reason, noun="The reason")
    _require_state(row, State.PROPOSED, to="to be voided")
    _end(row, State.VOIDED, by)
    _record(row, engagement, f"refund voided: {row.end_reason}", by)
    return row


def end_to_end_id(refund: OverpaymentRefund) -> str:
    """Return the transfer's reference for the customer: at most 35 characters, unique."""
    return f"{refund.invoice.engagement.reference}-O{refund.pk}".upper()[:35]


def locked(refund: OverpaymentRefund) -> tuple[OverpaymentRefund, Engagement]:
    """Reload the refund under its engagement's lock."""
    engagement = stages.locked(refund.invoice.engagement_id)
    row = OverpaymentRefund.objects.select_related("invoice", "left").get(pk=refund.pk)
    row.invoice.engagement = engagement
    return row, engagement


def _require_state(refund: OverpaymentRefund, state: State, *, to: str) -> None:
    validation.state(State(refund.state), state, noun="The refund", to=to)


def _end(refund: OverpaymentRefund, state: State, by: User) -> None:
    refund.state, refund.ended_by, refund.ended_at = state, by, timezone.now()
    validation.save_validated(refund)


def _record(
    refund: OverpaymentRefund,
    engagement: Engagement,
    outcome_text: str,
    by: User,
    *,
    for_customer: bool = False,
) -> None:
    invoice = refund.invoice
    shown = format_money(refund.amount, invoice.currency)
    events.record(
        engagement=engagement,
        verb=f"overpayment_refund.{refund.state}",
        summary=f"{shown} overpaid on {invoice.reference}: {outcome_text}.",
        actor=by,
        changes={
            "overpayment_refund": refund.pk,
            "invoice": invoice.pk,
            "amount": str(refund.amount),
            "state": refund.state,
        },
        for_customer=for_customer,
    )
