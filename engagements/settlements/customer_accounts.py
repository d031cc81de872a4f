"""TODO docstring."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from django.db.models import QuerySet

from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.engagement.models import Engagement
from engagements.settlements.models import Settlement

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Posting:
    """One line of a customer's account: what is owed is positive, what was paid negative."""

    on: datetime.date
    what: str
    reference: str
    amount: Decimal
    balance: Decimal
    invoice: Invoice | None = None
    settlement: Settlement | None = None

    @property
    def is_payment(self) -> bool:
        """Whether money came in for its invoice, or left it."""
        return self.what in _PAYMENTS.values()


@dataclass(frozen=True)
class Account:
    """Everything between the house and its customer in one currency, in the order of the days."""

    currency: str
    postings: list[Posting]

    @property
    def balance(self) -> Decimal:
        """What the customer owes; below nothing, what it is owed."""
        return self.postings[-1].balance if self.postings else Decimal(0)

    @property
    def owed(self) -> Decimal:
        """The balance without its sign, where words say who owes it."""
        return abs(self.balance)


def accounts_of(engagements: QuerySet[Engagement]) -> list[Account]:
    """Their accounts, one a currency: invoices, credit notes, payments, refunds paid."""
    entries = [*_invoiced(engagements), *_received(engagements), *_refunded(engagements)]
    accounts = []
    for currency in sorted({currency for currency, _ in entries}):
        rows = sorted((row for code, row in entries if code == currency), key=lambda row: row.on)
        accounts.append(Account(currency, _with_balance(rows)))
    return accounts


def _with_balance(rows: list[Posting]) -> list[Posting]:
    balance, done = Decimal(0), []
    for row in rows:
        balance += row.amount
        done.append(
            Posting(
                row.on, row.what, row.reference, row.amount, balance, row.invoice, row.settlement
            )
        )
    return done


def _invoiced(engagements: QuerySet[Engagement]) -> list[tuple[str, Posting]]:
    rows = Invoice.objects.filter(engagement__in=engagements, state=Invoice.State.ISSUED)
    entries = []
    for row in rows.select_related("engagement").order_by("issued_on", "pk"):
        assert row.issued_on is not None
        amount = -row.gross if row.is_credit_note else row.gross
        posting = Posting(
            row.issued_on, row.get_kind_display(), row.reference, amount, Decimal(0), row
        )
        entries.append((row.currency, posting))
    return entries


_PAYMENTS: dict[str, str] = {
    Payment.Kind.RECEIVED: "Payment",
    Payment.Kind.MOVED: "Overpayment moved",
    Payment.Kind.PAID_BACK: "Overpayment paid back",
    Payment.Kind.CAME_BACK: "Overpayment came back",
}


def _received(engagements: QuerySet[Engagement]) -> list[tuple[str, Posting]]:
    rows = Payment.objects.filter(invoice__engagement__in=engagements).select_related("invoice")
    return [
        (
            row.invoice.currency,
            Posting(
                row.received_on,
                _PAYMENTS[row.kind],
                row.reference,
                -row.amount,
                Decimal(0),
                row.invoice,
            ),
        )
        for row in rows.order_by("received_on", "pk")
    ]


def _refunded(engagements: QuerySet[Engagement]) -> list[tuple[str, Posting]]:
    paid = Settlement.objects.filter(
        contract_version__engagement__in=engagements,
        state=Settlement.State.PAID,
        refund__gt=0,
    )
    entries = []
    for row in paid.order_by("paid_at", "pk"):
        assert row.paid_at is not None
        posting = Posting(
            row.paid_at.date(),
            "Refund",
            row.payment_reference,
            row.refund,
            Decimal(0),
            settlement=row,
        )
        entries.append((row.currency, posting))
    return entries
