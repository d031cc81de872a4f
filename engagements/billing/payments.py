"""Payments: money that arrived for an issued invoice, written down once."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from engagements.access import require_finance
from engagements.billing import postings
from engagements.billing.balances import balance_of
from engagements.billing.models import Invoice
from engagements.billing.payment_models import BankLine, Payment
from engagements.common import validation
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.engagement import stages
from engagements.engagement.models import Engagement
from engagements.event_log import events
from engagements.people.models import User

# What was paid in advance is no older than this when it is billed.
BEFORE_THE_INVOICE = timedelta(days=366)


@transaction.atomic
def record(
    *,
    invoice: Invoice,
    amount: Decimal,
    received_on: date,
    reference: str,
    by: User,
    bank_line: BankLine | None = None,
    may_exceed: bool = False,
) -> Payment:
    """Note money that arrived for an issued invoice: gross, in its currency.

    The same reference is the same payment. More than is open is refused as a slip of the hand,
    unless it `may_exceed` because it really arrived: the rest is then to the customer's credit.
    """
    engagement = stages.locked(invoice.engagement_id)
    require_finance(by)
    row = Invoice.objects.get(pk=invoice.pk)
    amount = validation.amount(amount, row.currency, noun="The payment")
    reference = validation.text(reference, noun="The payment reference")
    known = _known(row, reference, amount, received_on)
    if known:
        return known
    _require_payable(row, received_on)
    if bank_line is None:
        _require_plausible(row, received_on)
    if not may_exceed:
        _require_open(row, amount)
    payment = Payment(
        invoice=row,
        amount=amount,
        received_on=received_on,
        reference=reference,
        bank_line=bank_line,
        recorded_by=by,
    )
    validation.save_validated(payment)
    _tell(payment, engagement)
    postings.payment_received(payment)
    return payment


def _known(invoice: Invoice, reference: str, amount: Decimal, received_on: date) -> Payment | None:
    known = invoice.payments.filter(reference=reference).first()
    figures = (Payment.Kind.RECEIVED, amount, received_on)
    if known and (known.kind, known.amount, known.received_on) != figures:
        raise ApplicationError(
            f"A payment {reference} is recorded already, with other figures.", code="billing.todo"
        )
    return known


def _tell(payment: Payment, engagement: Engagement) -> None:
    invoice = payment.invoice
    events.record(
        engagement=engagement,
        verb="payment.recorded",
        summary=f"{format_money(payment.amount, invoice.currency)} received for "
        f"{invoice.reference}.",
        actor=payment.recorded_by,
        changes={
            "invoice": invoice.pk,
            "amount": str(payment.amount),
            "reference": payment.reference,
        },
        for_customer=True,
    )


def _require_open(invoice: Invoice, amount: Decimal) -> None:
    limit = balance_of(invoice).max_payment
    if amount > limit:
        left = format_money(limit, invoice.currency)
        raise ApplicationError(
            f"{invoice.reference} has {left} open; {amount:f} would be too much.",
            code="billing.todo",
        )


def _require_payable(invoice: Invoice, received_on: date) -> None:
    """Refuse money that nothing was billed for.

    What was credited since still takes a payment: it crossed the credit note, or a settlement
    that counted on what had been received by then, and the next settlement counts it. What
    comes after the end is too much, and goes back as such.
    """
    if not invoice.is_issued or invoice.is_credit_note:
        raise ApplicationError("A payment is recorded for an issued invoice.", code="billing.todo")
    if received_on > timezone.localdate():
        raise ApplicationError(
            "A payment is recorded when it has arrived, not before.", code="billing.todo"
        )


def _require_plausible(invoice: Invoice, received_on: date) -> None:
    """Refuse a day that is a slip of the hand, as the year 26 is: no payment is ever changed."""
    assert invoice.issued_on is not None  # payable
    if received_on < invoice.issued_on - BEFORE_THE_INVOICE:
        raise ApplicationError(
            f"{invoice.reference} was issued on {in_words(invoice.issued_on)}, and this would "
            f"have arrived on {received_on.isoformat()}: look at the year.",
            code="billing.todo",
        )
