"""Statements of account: what a customer owes, by currency, with a running balance.

Dated as the ledger is: refunds on the bank's value date, write-offs on the day of their decision.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from django.db.models import Max, Q, QuerySet
from django.utils import timezone

from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.billing.write_off_models import WriteOff
from engagements.engagement.models import Engagement
from engagements.settlements.models import Settlement

_PAYMENTS: dict[str, str] = {
    Payment.Kind.RECEIVED: "Payment",
    Payment.Kind.MOVED: "Overpayment moved",
    Payment.Kind.PAID_BACK: "Overpayment refunded",
    Payment.Kind.CAME_BACK: "Overpayment refund failed",
    Payment.Kind.REVERSED: "Payment reversed",
}


@dataclass(frozen=True)
class Posting:
    """One line of an account: `amount` is positive where the customer owes it."""

    on: datetime.date
    what: str
    reference: str
    amount: Decimal
    balance: Decimal = Decimal(0)
    invoice: Invoice | None = None
    settlement: Settlement | None = None

    @property
    def is_payment(self) -> bool:
        """Whether it is a payment on its invoice, incoming or outgoing."""
        return self.what in _PAYMENTS.values()


@dataclass(frozen=True)
class Account:
    """All postings of a customer in one currency, by date."""

    currency: str
    postings: list[Posting]

    @property
    def balance(self) -> Decimal:
        """The amount receivable from the customer; negative for a credit balance."""
        return self.postings[-1].balance if self.postings else Decimal(0)

    @property
    def owed(self) -> Decimal:
        """The absolute balance."""
        return abs(self.balance)


def accounts_of(engagements: QuerySet[Engagement]) -> list[Account]:
    """Return one account a currency: invoices, credit notes, payments, write-offs, refunds."""
    entries = [
        *_invoices(engagements),
        *_payments(engagements),
        *_write_offs(engagements),
        *_refunds(engagements),
    ]
    accounts = []
    for currency in sorted({currency for currency, _ in entries}):
        rows = sorted((row for code, row in entries if code == currency), key=lambda row: row.on)
        accounts.append(Account(currency, list(_with_balance(rows))))
    return accounts


def _with_balance(rows: list[Posting]) -> Iterator[Posting]:
    balance = Decimal(0)
    for row in rows:
        balance += row.amount
        yield replace(row, balance=balance)


def _invoices(engagements: QuerySet[Engagement]) -> Iterator[tuple[str, Posting]]:
    rows = Invoice.objects.filter(engagement__in=engagements, state=Invoice.State.ISSUED)
    for row in rows.select_related("engagement").order_by("issued_on", "pk"):
        assert row.issued_on is not None
        amount = -row.gross if row.is_credit_note else row.gross
        yield (
            row.currency,
            Posting(row.issued_on, row.get_kind_display(), row.reference, amount, invoice=row),
        )


def _payments(engagements: QuerySet[Engagement]) -> Iterator[tuple[str, Posting]]:
    rows = Payment.objects.filter(invoice__engagement__in=engagements).select_related("invoice")
    for row in rows.order_by("received_on", "pk"):
        what = _PAYMENTS[row.kind]
        yield (
            row.invoice.currency,
            Posting(row.received_on, what, row.reference, -row.amount, invoice=row.invoice),
        )


def _write_offs(engagements: QuerySet[Engagement]) -> Iterator[tuple[str, Posting]]:
    rows = WriteOff.objects.filter(
        invoice__engagement__in=engagements, state=WriteOff.State.POSTED
    ).select_related("invoice")
    for row in rows.order_by("decided_at", "pk"):
        yield (
            row.invoice.currency,
            Posting(
                timezone.localdate(row.decided_at),
                row.get_kind_display(),
                row.invoice.reference,
                -row.amount,
                invoice=row.invoice,
            ),
        )


def _refunds(engagements: QuerySet[Engagement]) -> Iterator[tuple[str, Posting]]:
    paid = Settlement.objects.filter(
        contract_version__engagement__in=engagements, state=Settlement.State.PAID, refund__gt=0
    )
    executed = Max("transfers__valued_on", filter=Q(transfers__outcome="paid"))
    for row in paid.annotate(valued_on=executed).order_by("valued_on", "pk"):
        yield (
            row.currency,
            Posting(row.valued_on, "Refund", row.payment_reference, row.refund, settlement=row),
        )
