"""Overpayments on their way back: proposed by one person of finance, sent by another.

Sent, the money counts as gone: it has left its invoice, by a SEPA file or by hand. What the bank
does not transfer comes back to the invoice.
"""

from __future__ import annotations

from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from engagements.access import require_finance
from engagements.billing import postings as payment_postings
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.engagement import stages
from engagements.engagement.models import Engagement
from engagements.event_log import events
from engagements.ledger import effects
from engagements.ledger.positions import positions_of
from engagements.payouts import postings
from engagements.payouts.models import OverpaymentRefund, Transfer, TransferFile
from engagements.payouts.overpayments import Planned, leave, require_excess
from engagements.people.models import BankAccount, User

State = OverpaymentRefund.State


def preview(*, invoice: Invoice, amount: Decimal) -> list[Planned]:
    """What paying `amount` back would post: on its way first, then arrived."""
    position = positions_of(invoice.engagement, invoice.currency)
    return [
        Planned(invoice.engagement, effects.paid_back(position, amount)),
        Planned(invoice.engagement, effects.transferred(amount)),
    ]


@transaction.atomic
def propose(*, invoice: Invoice, amount: Decimal, by: User) -> OverpaymentRefund:
    """Propose to pay `amount` (gross) of what came in beyond `invoice` back.

    Proposed again by the same person, nothing changes.
    """
    engagement = stages.locked(invoice.engagement_id)
    require_finance(by)
    amount = validation.amount(amount, invoice.currency, noun="The amount")
    if amount <= 0:
        raise ApplicationError("What leaves an invoice is more than nothing.", code="payouts.todo")
    known = invoice.overpayment_refunds.filter(state__in=OverpaymentRefund.OPEN).first()
    if known:
        as_asked = (State.PROPOSED, amount, by.pk)
        if (known.state, known.amount, known.proposed_by_id) == as_asked:
            return known
        raise ApplicationError(
            f"What is too much of {invoice.reference} is being paid back already.",
            code="payouts.todo",
        )
    row = OverpaymentRefund(
        invoice=Invoice.objects.get(pk=invoice.pk), amount=amount, proposed_by=by
    )
    row.invoice.engagement = engagement
    require_excess(row.invoice, amount)
    validation.save_validated(row)
    _tell(row, engagement, "is to be paid back: somebody else sends it", by)
    return row


@transaction.atomic
def send(
    *,
    refund: OverpaymentRefund,
    by: User,
    file: TransferFile | None = None,
    account: BankAccount | None = None,
) -> OverpaymentRefund:
    """The transfer is on its way: somebody else than proposed it says so, and the money is gone.

    With a `file` (and the customer's bank `account` that it names) it goes by SEPA, else
    somebody makes it by hand.
    """
    row, engagement = locked(refund)
    require_finance(by)
    if row.state in (State.PAYING, State.PAID):
        return row
    _require(row, State.PROPOSED, to="to be sent")
    if row.proposed_by_id == by.pk:
        raise ApplicationError(
            "Nobody sends what they proposed to pay back themselves.", code="payouts.todo"
        )
    require_excess(row.invoice, row.amount)
    row.left = leave(row.invoice, Payment.Kind.PAID_BACK, row.amount, end_to_end_id(row), by)
    row.state, row.sent_by, row.sent_at = State.PAYING, by, timezone.now()
    row.method = Transfer.Method.SEPA if file else Transfer.Method.BY_HAND
    row.file = file
    if account:
        row.payee, row.iban, row.bic = account.holder, account.iban, account.bic
    validation.save_validated(row)
    _tell(row, engagement, "is on its way back", by, for_customer=True)
    payment_postings.payment_paid_back(row.left)
    return row


@transaction.atomic
def mark_paid(*, refund: OverpaymentRefund, reference: str, by: User) -> OverpaymentRefund:
    """The money has arrived, under `reference` of the bank."""
    row, engagement = locked(refund)
    require_finance(by)
    reference = validation.text(reference, noun="The payment reference")
    if row.state == State.PAID:
        if row.reference != reference:
            raise ApplicationError(
                f"This was paid back already, as {row.reference}.", code="payouts.todo"
            )
        return row
    _require(row, State.PAYING, to="to be marked as paid")
    row.reference = reference
    _end(row, State.PAID, by)
    _tell(row, engagement, f"went back, reference {reference}", by, for_customer=True)
    postings.overpayment_refund_paid(row)
    return row


@transaction.atomic
def mark_failed(*, refund: OverpaymentRefund, reason: str, by: User) -> OverpaymentRefund:
    """The bank did not make the transfer: the money is the invoice's again."""
    row, engagement = locked(refund)
    require_finance(by)
    if row.state == State.FAILED:
        return row
    row.end_reason = validation.text(reason, noun="The reason")
    _require(row, State.PAYING, to="to be marked as failed")
    assert row.left is not None  # it is on its way
    back = Payment(
        invoice=row.invoice,
        kind=Payment.Kind.CAME_BACK,
        amount=row.amount,
        received_on=timezone.localdate(),
        reference=f"{row.left.reference} failed",
        moved_from=row.left,
        recorded_by=by,
    )
    validation.save_validated(back)
    _end(row, State.FAILED, by)
    _tell(row, engagement, f"came back: {row.end_reason}", by)
    payment_postings.payment_came_back(back)
    return row


@transaction.atomic
def void(*, refund: OverpaymentRefund, reason: str, by: User) -> OverpaymentRefund:
    """Set a proposal aside before any money moves. Another may then be made."""
    row, engagement = locked(refund)
    require_finance(by)
    if row.state == State.VOIDED:
        return row
    row.end_reason = validation.text(reason, noun="The reason")
    _require(row, State.PROPOSED, to="to be voided")
    _end(row, State.VOIDED, by)
    _tell(row, engagement, f"is not paid back: {row.end_reason}", by)
    return row


def end_to_end_id(refund: OverpaymentRefund) -> str:
    """What the customer reads beside the money: at most 35 characters, once a transfer."""
    return f"{refund.invoice.engagement.reference}-O{refund.pk}".upper()[:35]


def locked(refund: OverpaymentRefund) -> tuple[OverpaymentRefund, Engagement]:
    """The row read again under its engagement's lock."""
    engagement = stages.locked(refund.invoice.engagement_id)
    row = OverpaymentRefund.objects.select_related("invoice", "left").get(pk=refund.pk)
    row.invoice.engagement = engagement
    return row, engagement


def _require(refund: OverpaymentRefund, state: OverpaymentRefund.State, *, to: str) -> None:
    validation.state(State(refund.state), state, noun="This overpayment", to=to)


def _end(refund: OverpaymentRefund, state: OverpaymentRefund.State, by: User) -> None:
    refund.state, refund.ended_by, refund.ended_at = state, by, timezone.now()
    validation.save_validated(refund)


def _tell(
    refund: OverpaymentRefund,
    engagement: Engagement,
    what: str,
    by: User,
    *,
    for_customer: bool = False,
) -> None:
    invoice = refund.invoice
    shown = format_money(refund.amount, invoice.currency)
    events.record(
        engagement=engagement,
        verb=f"overpayment_refund.{refund.state}",
        summary=f"{shown} more than {invoice.reference} asks {what}.",
        actor=by,
        changes={
            "overpayment_refund": refund.pk,
            "invoice": invoice.pk,
            "amount": str(refund.amount),
            "state": refund.state,
        },
        for_customer=for_customer,
    )
