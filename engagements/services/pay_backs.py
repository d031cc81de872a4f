"""Overpayments on their way back: proposed by one person of finance, sent by another.

Sent, the money counts as gone: it has left its invoice, by a SEPA file or by hand. What the bank
does not transfer comes back to the invoice.
"""

from __future__ import annotations

from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from engagements import faults
from engagements.errors import Refused
from engagements.ledger import effects, postings
from engagements.ledger.positions import positions_of
from engagements.models import (
    BankAccount,
    Engagement,
    Invoice,
    PayBack,
    Payment,
    Transfer,
    TransferFile,
    User,
)
from engagements.money import format_money
from engagements.services import checked, events, lifecycle
from engagements.services.milestones import require_finance
from engagements.services.overpayments import Planned, leave, require_excess

State = PayBack.State


def preview(*, invoice: Invoice, amount: Decimal) -> list[Planned]:
    """What paying `amount` back would post: on its way first, then arrived."""
    position = positions_of(invoice.engagement, invoice.currency)
    return [
        Planned(invoice.engagement, effects.paid_back(position, amount)),
        Planned(invoice.engagement, effects.transferred(amount)),
    ]


@transaction.atomic
def propose(*, invoice: Invoice, amount: Decimal, by: User) -> PayBack:
    """Propose to pay `amount` (gross) of what came in beyond `invoice` back.

    Proposed again by the same person, nothing changes.
    """
    engagement = lifecycle.locked(invoice.engagement_id)
    require_finance(by)
    amount = checked.amount(amount, invoice.currency, noun="The amount")
    if amount <= 0:
        raise Refused("What leaves an invoice is more than nothing.")
    known = invoice.pay_backs.filter(state__in=PayBack.OPEN).first()
    if known:
        as_asked = (State.PROPOSED, amount, by.pk)
        if (known.state, known.amount, known.proposed_by_id) == as_asked:
            return known
        raise Refused(f"What is too much of {invoice.reference} is being paid back already.")
    row = PayBack(invoice=Invoice.objects.get(pk=invoice.pk), amount=amount, proposed_by=by)
    row.invoice.engagement = engagement
    require_excess(row.invoice, amount)
    checked.save(row)
    faults.point("propose_pay_back.written")
    _tell(row, engagement, "is to be paid back: somebody else sends it", by)
    return row


@transaction.atomic
def send(
    *,
    pay_back: PayBack,
    by: User,
    file: TransferFile | None = None,
    account: BankAccount | None = None,
) -> PayBack:
    """The transfer is on its way: somebody else than proposed it says so, and the money is gone.

    With a `file` (and the customer's bank `account` that it names) it goes by SEPA, else
    somebody makes it by hand.
    """
    row, engagement = locked(pay_back)
    require_finance(by)
    if row.state in (State.PAYING, State.PAID):
        return row
    _require(row, State.PROPOSED, to="to be sent")
    if row.proposed_by_id == by.pk:
        raise Refused("Nobody sends what they proposed to pay back themselves.")
    require_excess(row.invoice, row.amount)
    row.left = leave(row.invoice, Payment.Kind.PAID_BACK, row.amount, end_to_end_id(row), by)
    faults.point("pay_back.left")
    row.state, row.sent_by, row.sent_at = State.PAYING, by, timezone.now()
    row.method = Transfer.Method.SEPA if file else Transfer.Method.BY_HAND
    row.file = file
    if account:
        row.payee, row.iban, row.bic = account.holder, account.iban, account.bic
    checked.save(row)
    faults.point("pay_back.written")
    _tell(row, engagement, "is on its way back", by, for_customer=True)
    faults.point("pay_back.told")
    postings.payment_paid_back(row.left)
    faults.point("pay_back.posted")
    return row


@transaction.atomic
def mark_paid(*, pay_back: PayBack, reference: str, by: User) -> PayBack:
    """The money has arrived, under `reference` of the bank."""
    row, engagement = locked(pay_back)
    require_finance(by)
    reference = checked.text(reference, noun="The payment reference")
    if row.state == State.PAID:
        if row.reference != reference:
            raise Refused(f"This was paid back already, as {row.reference}.")
        return row
    _require(row, State.PAYING, to="to be marked as paid")
    row.reference = reference
    _end(row, State.PAID, by)
    faults.point("end_pay_back.written")
    _tell(row, engagement, f"went back, reference {reference}", by, for_customer=True)
    faults.point("end_pay_back.told")
    postings.pay_back_paid(row)
    faults.point("end_pay_back.posted")
    return row


@transaction.atomic
def mark_failed(*, pay_back: PayBack, reason: str, by: User) -> PayBack:
    """The bank did not make the transfer: the money is the invoice's again."""
    row, engagement = locked(pay_back)
    require_finance(by)
    if row.state == State.FAILED:
        return row
    row.end_reason = checked.text(reason, noun="The reason")
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
    checked.save(back)
    faults.point("fail_pay_back.arrived")
    _end(row, State.FAILED, by)
    faults.point("fail_pay_back.written")
    _tell(row, engagement, f"came back: {row.end_reason}", by)
    faults.point("fail_pay_back.told")
    postings.payment_came_back(back)
    faults.point("fail_pay_back.posted")
    return row


@transaction.atomic
def void(*, pay_back: PayBack, reason: str, by: User) -> PayBack:
    """Set a proposal aside before any money moves. Another may then be made."""
    row, engagement = locked(pay_back)
    require_finance(by)
    if row.state == State.VOIDED:
        return row
    row.end_reason = checked.text(reason, noun="The reason")
    _require(row, State.PROPOSED, to="to be voided")
    _end(row, State.VOIDED, by)
    _tell(row, engagement, f"is not paid back: {row.end_reason}", by)
    return row


def end_to_end_id(pay_back: PayBack) -> str:
    """What the customer reads beside the money: at most 35 characters, once a transfer."""
    return f"{pay_back.invoice.engagement.reference}-O{pay_back.pk}".upper()[:35]


def locked(pay_back: PayBack) -> tuple[PayBack, Engagement]:
    """The row read again under its engagement's lock."""
    engagement = lifecycle.locked(pay_back.invoice.engagement_id)
    row = PayBack.objects.select_related("invoice", "left").get(pk=pay_back.pk)
    row.invoice.engagement = engagement
    return row, engagement


def _require(pay_back: PayBack, state: PayBack.State, *, to: str) -> None:
    checked.state(State(pay_back.state), state, noun="This overpayment", to=to)


def _end(pay_back: PayBack, state: PayBack.State, by: User) -> None:
    pay_back.state, pay_back.ended_by, pay_back.ended_at = state, by, timezone.now()
    checked.save(pay_back)


def _tell(
    pay_back: PayBack, engagement: Engagement, what: str, by: User, *, for_customer: bool = False
) -> None:
    invoice = pay_back.invoice
    shown = format_money(pay_back.amount, invoice.currency)
    events.record(
        engagement=engagement,
        verb=f"pay_back.{pay_back.state}",
        summary=f"{shown} more than {invoice.reference} asks {what}.",
        actor=by,
        changes={
            "pay_back": pay_back.pk,
            "invoice": invoice.pk,
            "amount": str(pay_back.amount),
            "state": pay_back.state,
        },
        for_customer=for_customer,
    )
