"""Invoice balances: credited, received, open, due, overdue."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, TypedDict

from django.db.models import F, QuerySet

from engagements.billing.models import Invoice

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    InvoiceWithBalance = WithAnnotations[Invoice, "Balance"]


class Balance(TypedDict):
    """Gross figures of an invoice in its currency, as `with_balance` annotates them.

    `open_amount`: gross less credit notes, payments and write-offs; negative when overpaid.
    `due_after_settlement`: the engagement's balance due after its approved settlement; None
    without one. A proposed settlement does not count: one person's figures bind nobody.
    `amount_due`: the amount the customer still has to pay. After an approved settlement all
    invoices together ask for no more than `due_after_settlement`, the oldest first.
    `offset`: the part of `open_amount` that payments for other invoices cover.
    `is_held`: a settlement is proposed, so nothing is due until it is approved.
    `max_payment`: the largest payment to record. While held, all that is open, since a payment
    may have been on its way.
    `is_settled`: open by arithmetic only; the settlement covers it.
    """

    credited: Decimal
    received: Decimal
    written_off: Decimal
    open_amount: Decimal
    due_after_settlement: Decimal | None
    amount_due: Decimal
    offset: Decimal
    is_settled: bool
    is_held: bool
    max_payment: Decimal


def with_balance(invoices: QuerySet[Invoice]) -> QuerySet[InvoiceWithBalance]:
    """Annotate invoices with the figures of `Balance`."""
    return invoices.annotate(
        credited=F("balance__credited"),
        received=F("balance__received"),
        written_off=F("balance__written_off"),
        open_amount=F("balance__open_amount"),
        due_after_settlement=F("balance__due_after_settlement"),
        amount_due=F("balance__amount_due"),
        offset=F("balance__offset"),
        is_settled=F("balance__is_settled"),
        is_held=F("balance__is_held"),
        max_payment=F("balance__max_payment"),
    )


def issued_invoices() -> QuerySet[InvoiceWithBalance]:
    """Issued invoices (not credit notes) with balance, customer, engagement and contract."""
    rows = Invoice.objects.filter(kind=Invoice.Kind.INVOICE, state=Invoice.State.ISSUED)
    return with_balance(rows).select_related("customer", "engagement", "contract_version")


def open_invoices() -> QuerySet[InvoiceWithBalance]:
    """Issued invoices with an amount due, the earliest due date first."""
    return issued_invoices().filter(amount_due__gt=Decimal(0)).order_by("due_on", "pk")


def overdue_invoices(*, today: datetime.date) -> QuerySet[InvoiceWithBalance]:
    """Open invoices past their due date."""
    return open_invoices().filter(due_on__lt=today)


def balance_of(invoice: Invoice) -> InvoiceWithBalance:
    """Reload an invoice with its balance."""
    return with_balance(Invoice.objects.filter(pk=invoice.pk)).get()
