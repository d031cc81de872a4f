"""Invoices with what became of them: credited, received, open, overdue."""

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
    """What `with_balance` adds to an invoice: gross, in its currency, from `InvoiceBalance`.

    `open_amount` is below nothing where more arrived than was owed. `left_due` is what the
    engagement owes after its settlement; None while no second person agreed to one, for a proposal
    is one person's, or the application's: its figures are told to no customer, and nothing is
    asked for by them. `asked` is what the customer is still to pay of the invoice: once a
    settlement is approved no more than that left due and nobody paid since, for what came in for
    any invoice of the engagement counts towards what is kept. `counted` is what that takes off.
    `is_settled` says that something is open in the arithmetic alone. `is_held` says that a
    settlement is proposed: nothing is asked for until it is approved and says what is left.
    `takes` is what a payment may come to: what is asked for, and where it is held all that is
    open, for a payment may have been on its way; the next proposal counts it.
    """

    credited: Decimal
    received: Decimal
    open_amount: Decimal
    left_due: Decimal | None
    asked: Decimal
    counted: Decimal
    is_settled: bool
    is_held: bool
    takes: Decimal


def with_balance(invoices: QuerySet[Invoice]) -> QuerySet[InvoiceWithBalance]:
    """Invoices with what `Balance` names, each computed in the database."""
    return invoices.annotate(
        credited=F("balance__credited"),
        received=F("balance__received"),
        open_amount=F("balance__open_amount"),
        left_due=F("balance__left_due"),
        asked=F("balance__asked"),
        counted=F("balance__counted"),
        is_settled=F("balance__is_settled"),
        is_held=F("balance__is_held"),
        takes=F("balance__takes"),
    )


def issued_invoices() -> QuerySet[InvoiceWithBalance]:
    """Issued invoices (not credit notes) with their balance and what they are shown with."""
    rows = Invoice.objects.filter(kind=Invoice.Kind.INVOICE, state=Invoice.State.ISSUED)
    return with_balance(rows).select_related("customer", "engagement", "contract_version")


def open_invoices() -> QuerySet[InvoiceWithBalance]:
    """Issued invoices that wait for money, the one that is due first at the head.

    Not those of an engagement whose settlement is proposed, or leaves nothing due: the money for
    one invoice of it may have covered what was kept of another.
    """
    waiting = issued_invoices().filter(asked__gt=Decimal(0))
    return waiting.order_by("due_on", "pk")


def overdue_invoices(*, today: datetime.date) -> QuerySet[InvoiceWithBalance]:
    """Open invoices whose day has passed."""
    return open_invoices().filter(due_on__lt=today)


def balance_of(invoice: Invoice) -> InvoiceWithBalance:
    """One invoice, read again with its balance."""
    return with_balance(Invoice.objects.filter(pk=invoice.pk)).get()
