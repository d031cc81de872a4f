"""Invoices with what became of them: credited, received, open, overdue."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, TypedDict

from django.db.models import DecimalField, Exists, F, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce

from engagements.models import Invoice, Payment, Settlement

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    InvoiceWithBalance = WithAnnotations[Invoice, "Balance"]

AMOUNT = DecimalField(max_digits=14, decimal_places=3)
NOTHING = Value(Decimal(0), output_field=AMOUNT)


class Balance(TypedDict):
    """What `with_balance` adds to an invoice: gross, in its currency.

    `open_amount` is below nothing where more arrived than was owed. `is_settled` says that
    something is open in the arithmetic alone: the engagement's settlement leaves nothing due.
    """

    credited: Decimal
    received: Decimal
    open_amount: Decimal
    is_settled: bool


def with_balance(invoices: QuerySet[Invoice]) -> QuerySet[InvoiceWithBalance]:
    """Invoices with what `Balance` names, each computed in the database."""
    notes = Invoice.objects.filter(corrects=OuterRef("pk"), state=Invoice.State.ISSUED)
    payments = Payment.objects.filter(invoice=OuterRef("pk"))
    settled = Settlement.objects.filter(
        contract_version__engagement=OuterRef("engagement"), balance_due=Decimal(0)
    ).exclude(state=Settlement.State.VOIDED)
    return invoices.annotate(
        credited=Coalesce(_total(notes, "corrects", "gross"), NOTHING),
        received=Coalesce(_total(payments, "invoice", "amount"), NOTHING),
    ).annotate(
        open_amount=F("gross") - F("credited") - F("received"),
        is_settled=Q(Exists(settled)) & ~Q(open_amount=Decimal(0)),
    )


def issued_invoices() -> QuerySet[InvoiceWithBalance]:
    """Issued invoices (not credit notes) with their balance and what they are shown with."""
    rows = Invoice.objects.filter(kind=Invoice.Kind.INVOICE, state=Invoice.State.ISSUED)
    return with_balance(rows).select_related("customer", "engagement", "contract_version")


def open_invoices() -> QuerySet[InvoiceWithBalance]:
    """Issued invoices that wait for money, the one that is due first at the head.

    Not those of an engagement whose settlement leaves nothing due: the money for one invoice of
    it may have covered what was kept of another.
    """
    waiting = issued_invoices().filter(is_settled=False, open_amount__gt=Decimal(0))
    return waiting.order_by("due_on", "pk")


def overdue_invoices(*, today: datetime.date) -> QuerySet[InvoiceWithBalance]:
    """Open invoices whose day has passed."""
    return open_invoices().filter(due_on__lt=today)


def balance_of(invoice: Invoice) -> InvoiceWithBalance:
    """One invoice, read again with its balance."""
    return with_balance(Invoice.objects.filter(pk=invoice.pk)).get()


def _total(rows: QuerySet[Invoice] | QuerySet[Payment], group: str, amount: str) -> Subquery:
    totals = rows.order_by().values(group).annotate(total=Sum(amount)).values("total")
    return Subquery(totals, output_field=AMOUNT)
