"""What finance bills: milestones that wait, drafts, issued invoices, a customer's account."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING

from django.db.models import Q, QuerySet, Sum

from engagements.models import (
    Customer,
    Document,
    Engagement,
    Invoice,
    Milestone,
    Payment,
    Settlement,
)
from engagements.queries.balances import (
    issued_invoices,
    open_invoices,
    overdue_invoices,
    with_balance,
)
from engagements.queries.finance import MilestoneLine, lines_of
from engagements.queries.overpayments import overpaid_invoices

if TYPE_CHECKING:
    from engagements.queries.balances import InvoiceWithBalance


@dataclass(frozen=True)
class ToBill:
    """The released milestones of one engagement that stand on no invoice yet."""

    engagement: Engagement
    lines: list[MilestoneLine]

    @property
    def currency(self) -> str:
        """Of all of them: an amendment does not change it."""
        return self.lines[0].currency

    @property
    def gross(self) -> Decimal:
        """What they come to with tax, each rounded by itself."""
        return sum((line.gross for line in self.lines), Decimal(0))


class Standing(StrEnum):
    """What a list of invoices can be narrowed to; the values stand in addresses."""

    OPEN = "open"
    OVERDUE = "overdue"
    PAID = "paid"
    OVERPAID = "overpaid"
    CREDIT_NOTES = "credit-notes"


def to_bill() -> list[ToBill]:
    """What may be billed and stands on no draft, by engagement, the longest released first."""
    drafted = Q(invoice_lines__invoice__state=Invoice.State.DRAFT)
    released = Milestone.objects.filter(state=Milestone.State.RELEASED).exclude(drafted)
    lines = lines_of(released.order_by("released_at", "pk"))
    order = {
        line.milestone.contract_version.engagement_id: at for at, line in enumerate(lines[::-1])
    }
    lines.sort(
        key=lambda line: (
            -order[line.milestone.contract_version.engagement_id],
            line.milestone.contract_version.number,
            line.milestone.position,
        )
    )
    groups = groupby(lines, key=lambda line: line.milestone.contract_version.engagement)
    return [ToBill(engagement, list(group)) for engagement, group in groups]


def drafts() -> QuerySet[Invoice]:
    """Invoices that are collected and not issued, the oldest first."""
    return (
        Invoice.objects.filter(state=Invoice.State.DRAFT)
        .select_related("customer", "engagement", "contract_version", "corrects", "drafted_by")
        .prefetch_related("lines__milestone")
        .order_by("drafted_at", "pk")
    )


def found_invoices(
    *, today: datetime.date, text: str = "", standing: str = "", customer: Customer | None = None
) -> QuerySet[InvoiceWithBalance]:
    """Issued invoices, the newest first: all, or narrowed to a `Standing`, a customer, a text.

    The text is looked for in numbers, references of engagements and names of customers. Credit
    notes have a list of their own.
    """
    if standing == Standing.CREDIT_NOTES:
        notes = Invoice.objects.filter(
            kind=Invoice.Kind.CREDIT_NOTE, state=Invoice.State.ISSUED
        ).select_related("customer", "engagement", "contract_version", "corrects")
        found = with_balance(notes)
    else:
        found = _standing(standing, today)
    if customer is not None:
        found = found.filter(customer=customer)
    if text:
        found = found.filter(
            Q(reference__icontains=text)
            | Q(engagement__reference__icontains=text)
            | Q(customer__name__icontains=text)
        )
    return found.order_by("-issued_on", "-pk")


def _standing(standing: str, today: datetime.date) -> QuerySet[InvoiceWithBalance]:
    if standing == Standing.OPEN:
        return open_invoices()
    if standing == Standing.OVERDUE:
        return overdue_invoices(today=today)
    if standing == Standing.PAID:
        return issued_invoices().filter(open_amount__lte=Decimal(0))
    if standing == Standing.OVERPAID:
        return overpaid_invoices()
    return issued_invoices()


def invoices_of(engagement: Engagement) -> QuerySet[InvoiceWithBalance]:
    """An engagement's issued invoices with their balance, and their credit notes, by day."""
    return (
        issued_invoices()
        .filter(engagement=engagement)
        .prefetch_related("lines", "credit_notes")
        .order_by("issued_on", "pk")
    )


def documents_by_subject(engagement: Engagement) -> dict[str, Document]:
    """The PDFs of an engagement's invoices and credit notes by subject, without their bytes."""
    kinds = (Document.Kind.INVOICE, Document.Kind.CREDIT_NOTE)
    rows = Document.objects.filter(engagement=engagement, kind__in=kinds).defer("content")
    return {row.subject: row for row in rows}


def document_of(invoice: Invoice) -> Document | None:
    """The PDF of an issued invoice or credit note, without its bytes; None until it is made."""
    documents = Document.objects.filter(kind=invoice.kind, subject=f"invoice:{invoice.pk}")
    return documents.defer("content").first()


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


@dataclass(frozen=True)
class Totals:
    """What is `open` and what is `overpaid` of some invoices in one currency; never netted."""

    currency: str
    open: Decimal
    overpaid: Decimal


def totals_by_currency(rows: QuerySet[InvoiceWithBalance]) -> list[Totals]:
    """What is open and what is overpaid of these invoices, gross, by currency.

    What a settlement counts is neither: it leaves nothing to ask for, and goes back with that.
    """
    found, nothing = rows.order_by().values("pk"), Decimal(0)
    waiting = _sums(open_invoices().filter(pk__in=found), "asked")
    over = _sums(overpaid_invoices().filter(pk__in=found), "open_amount")
    return [
        Totals(currency, waiting.get(currency, nothing), -over.get(currency, nothing))
        for currency in sorted({*waiting, *over})
    ]


def _sums(rows: QuerySet[InvoiceWithBalance], amount: str) -> dict[str, Decimal]:
    totals = rows.order_by().values("currency").annotate(total=Sum(amount))
    return dict(totals.values_list("currency", "total"))
