"""Payments: money that arrived for an issued invoice, written down once."""

from __future__ import annotations

import datetime as dt
from datetime import date, timedelta
from decimal import Decimal

from django.db import transaction
from django.db.models import Q, QuerySet, Sum
from django.utils import timezone

from engagements.access import require_finance
from engagements.billing import postings, write_offs
from engagements.billing.balances import balance_of
from engagements.billing.bank_models import BankLine
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment, PaymentConfirmation
from engagements.billing.reopening import reopen
from engagements.common import validation
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.contracts.models import ContractVersion
from engagements.engagement import stages
from engagements.engagement.models import Engagement
from engagements.event_log import events
from engagements.people import second_person
from engagements.people.models import User

# The longest plausible time between a payment in advance and its invoice.
MAX_ADVANCE = timedelta(days=366)


@transaction.atomic
def record(
    *,
    invoice: Invoice,
    amount: Decimal,
    received_on: date,
    reference: str,
    by: User,
    bank_line: BankLine | None = None,
    bank_amount: Decimal | None = None,
    may_exceed: bool = False,
) -> Payment:
    """Record a payment received for an issued invoice: gross, in its currency.

    Idempotent by `reference`. An amount above the open amount is declined as a probable typing
    error unless `may_exceed`; the excess becomes an overpayment. `bank_amount` is the amount of
    the bank line in its currency, where that is not the invoice's.
    """
    engagement = stages.locked(invoice.engagement_id)
    require_finance(by)
    row = Invoice.objects.get(pk=invoice.pk)
    amount = validation.amount(amount, row.currency, noun="The payment")
    reference = validation.text(reference, noun="The payment reference")
    known = _known(row, reference, amount, received_on)
    if known:
        return known
    _require_payable(row)
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
        bank_amount=bank_amount,
        recorded_by=by,
    )
    validation.save_validated(payment)
    _log(payment, engagement)
    postings.payment_received(payment)
    write_offs.reverse_overpaid(invoice=row, reason=f"Paid by {payment.reference}.")
    reopen(engagement, reason="a payment came in", by=by)
    return payment


@transaction.atomic
def confirm(*, payment: Payment, by: User, bank_line: BankLine | None = None) -> Payment:
    """Confirm a payment keyed by hand, as a second person or by its `bank_line`. Idempotent.

    Until then it counts towards no refund.
    """
    engagement = stages.locked(payment.invoice.engagement_id)
    require_finance(by)
    row = Payment.objects.select_related("invoice", "confirmation").get(pk=payment.pk)
    if row.is_confirmed:
        return row
    if row.kind != Payment.Kind.RECEIVED or hasattr(row, "moved_to"):
        raise ApplicationError("This payment is reversed.", code="payment.reversed")
    if bank_line is None:
        second_person.require(
            by=by,
            others=[row.recorded_by_id],
            subject=row.subject,
            code="payment.same_person",
            message="You recorded this payment: a bank line or another person confirms it.",
        )
    confirmation = PaymentConfirmation(payment=row, bank_line=bank_line, confirmed_by=by)
    validation.save_validated(confirmation)
    row.confirmation = confirmation
    shown = format_money(row.amount, row.invoice.currency)
    source = "by the bank statement" if bank_line else f"by {by}"
    events.record(
        engagement=engagement,
        verb="payment.confirmed",
        summary=f"{shown} for {row.invoice.reference} confirmed {source}.",
        actor=by,
        changes={"payment": row.pk, "bank_line": bank_line.pk if bank_line else None},
    )
    return row


def unconfirmed(payments: QuerySet[Payment]) -> QuerySet[Payment]:
    """Payments keyed by hand that neither a bank line nor a second person confirmed."""
    return payments.filter(
        kind=Payment.Kind.RECEIVED,
        bank_line__isnull=True,
        confirmation__isnull=True,
        moved_to__isnull=True,
    )


def require_confirmed(payments: QuerySet[Payment]) -> None:
    """Require that no payment waits for its confirmation."""
    waiting = unconfirmed(payments.all()).select_related("invoice").first()
    if waiting is not None:
        raise ApplicationError(
            f"Payment {waiting.reference} of {waiting.invoice.reference} was entered manually: "
            "a bank line or another person of finance confirms it first.",
            code="payment.unconfirmed",
        )


def confirmed_total(engagement: Engagement) -> Decimal:
    """The payments of an engagement that a settlement may refund, gross."""
    rows = Payment.objects.filter(invoice__engagement=engagement, invoice__charge__isnull=True)
    total, waiting = (
        group.aggregate(total=Sum("amount"))["total"] or Decimal(0)
        for group in (rows, unconfirmed(rows))
    )
    return total - waiting


def _known(invoice: Invoice, reference: str, amount: Decimal, received_on: date) -> Payment | None:
    known = invoice.payments.filter(reference=reference).first()
    figures = (Payment.Kind.RECEIVED, amount, received_on)
    if known and (known.kind, known.amount, known.received_on) != figures:
        raise ApplicationError(
            f"Payment {reference} is already recorded with another amount or date.",
            code="payment.recorded_differently",
        )
    return known


def _log(payment: Payment, engagement: Engagement) -> None:
    invoice = payment.invoice
    events.record(
        engagement=engagement,
        verb="payment.keyed" if payment.bank_line is None else "payment.recorded",
        summary=f"{format_money(payment.amount, invoice.currency)} received for "
        f"{invoice.reference}.",
        actor=payment.recorded_by,
        changes={
            "invoice": invoice.pk,
            "amount": str(payment.amount),
            "reference": payment.reference,
            "bank_line": payment.bank_line_id,
        },
        for_customer=True,
    )


def _require_open(invoice: Invoice, amount: Decimal) -> None:
    limit = balance_of(invoice).max_payment
    if amount > limit:
        left = format_money(limit, invoice.currency)
        raise ApplicationError(
            f"{amount:f} exceeds the open amount of {invoice.reference}, {left}.",
            code="payment.exceeds_open_amount",
        )


def _require_payable(invoice: Invoice) -> None:
    # A credited invoice still accepts payments: the transfer may have crossed the credit note or
    # the settlement. The next settlement counts it, or it is refunded as an overpayment.
    if not invoice.is_issued or invoice.is_credit_note:
        raise ApplicationError(
            "Payments are recorded for issued invoices only.", code="payment.not_an_issued_invoice"
        )


def _require_plausible(invoice: Invoice, received_on: date) -> None:
    """Decline a keyed date in the future, or far before the invoice, such as one in year 26.

    Payments are append-only. A bank may value a line some days ahead.
    """
    if received_on > timezone.localdate():
        raise ApplicationError("The payment date is in the future.", code="payment.in_the_future")
    assert invoice.issued_on is not None  # issued, as checked before
    if received_on < invoice.issued_on - MAX_ADVANCE:
        raise ApplicationError(
            f"{received_on.isoformat()} is long before {invoice.reference} was issued on "
            f"{in_words(invoice.issued_on)}. Check the year.",
            code="payment.long_before_invoice",
        )


def found_payments(
    *,
    text: str = "",
    kind: str = "",
    since: dt.date | None = None,
    until: dt.date | None = None,
) -> QuerySet[Payment]:
    """Search payments, latest first, by `Payment.Kind`, by dates (inclusive) and by text.

    The text is searched in payment, invoice and engagement references and customer names.
    """
    found = Payment.objects.select_related(
        "recorded_by",
        "invoice__engagement",
        "invoice__customer",
        "moved_from__invoice",
        "moved_to__invoice",
    )
    if kind:
        found = found.filter(kind=kind)
    if since is not None:
        found = found.filter(received_on__gte=since)
    if until is not None:
        found = found.filter(received_on__lte=until)
    if text:
        found = found.filter(
            Q(reference__icontains=text)
            | Q(invoice__reference__icontains=text)
            | Q(invoice__engagement__reference__icontains=text)
            | Q(invoice__customer__name__icontains=text)
        )
    return found.order_by("-received_on", "-pk")


def totals_of(payments: QuerySet[Payment]) -> list[tuple[str, Decimal]]:
    """Total amount by currency, in alphabetical order."""
    totals = payments.order_by().values_list("invoice__currency").annotate(total=Sum("amount"))
    return sorted(totals)


def recent_payments(limit: int = 10) -> list[Payment]:
    """The most recently recorded payments, newest first."""
    return list(
        Payment.objects.select_related(
            "recorded_by",
            "invoice__engagement__customer",
            "moved_from__invoice",
            "moved_to__invoice",
        ).order_by("-recorded_at", "-pk")[:limit]
    )


def payments_of(contract: ContractVersion) -> list[Payment]:
    """The payments of a contract's fee, by date."""
    return list(
        Payment.objects.filter(
            invoice__engagement=contract.engagement_id, invoice__charge__isnull=True
        )
        .select_related(
            "invoice",
            "recorded_by",
            "confirmation",
            "moved_from__invoice",
            "moved_to__invoice",
        )
        .order_by("received_on", "pk")
    )
