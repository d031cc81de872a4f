"""Invoices with what became of them: credited, received, open, overdue."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypedDict

from django.db.models import (
    Case,
    DecimalField,
    Exists,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Greatest, Least

from engagements.models import Invoice, Payment, Settlement

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    InvoiceWithBalance = WithAnnotations[Invoice, "Balance"]

AMOUNT = DecimalField(max_digits=14, decimal_places=3)
NOTHING = Value(Decimal(0), output_field=AMOUNT)
# What a second person agreed to. A proposal is one person's, or the application's: its figures are
# told to no customer, and nothing is asked for by them.
AGREED = (
    Settlement.State.APPROVED,
    Settlement.State.PAYING,
    Settlement.State.PAID,
    Settlement.State.FAILED,
)
# Money in flight counts as gone.
GONE = (Settlement.State.PAYING, Settlement.State.PAID)


class Balance(TypedDict):
    """What `with_balance` adds to an invoice: gross, in its currency.

    `open_amount` is below nothing where more arrived than was owed. `asked` is what the customer
    is still to pay of it: once a settlement is approved no more than that left due and nobody paid
    since, for what came in for any invoice of the engagement counts towards what is kept.
    `counted` is what that takes off. `is_settled` says that something is open in the arithmetic
    alone. `is_held` says that a settlement is proposed: nothing is asked for until it is approved
    and says what is left. `takes` is what a payment may come to: what is asked for, and where it
    is held all that is open, for a payment may have been on its way; the next proposal counts it.
    """

    credited: Decimal
    received: Decimal
    open_amount: Decimal
    asked: Decimal
    counted: Decimal
    is_settled: bool
    is_held: bool
    takes: Decimal


def with_balance(invoices: QuerySet[Invoice]) -> QuerySet[InvoiceWithBalance]:
    """Invoices with what `Balance` names, each computed in the database."""
    waits = Greatest(F("open_amount"), NOTHING)
    asked = Case(
        When(is_held=True, then=NOTHING),
        When(left_due__isnull=True, then=waits),
        default=Greatest(Least(waits, F("left_due") - Coalesce(_open_before(), NOTHING)), NOTHING),
        output_field=AMOUNT,
    )
    return (
        _with_open(invoices)
        .annotate(left_due=_left_due(), is_proposed=_is_proposed())
        .annotate(is_held=Q(is_proposed=True, open_amount__gt=Decimal(0)))
        .annotate(asked=asked)
        .annotate(
            counted=Case(When(is_held=True, then=NOTHING), default=waits - F("asked")),
            takes=Case(When(is_held=True, then=F("open_amount")), default=F("asked")),
            is_settled=(Q(left_due__isnull=False) | Q(is_proposed=True))
            & Q(asked=Decimal(0), is_held=False)
            & ~Q(open_amount=Decimal(0)),
        )
    )


def _with_open(invoices: QuerySet[Invoice]) -> QuerySet[Any]:
    notes = Invoice.objects.filter(corrects=OuterRef("pk"), state=Invoice.State.ISSUED)
    payments = Payment.objects.filter(invoice=OuterRef("pk"))
    return invoices.annotate(
        credited=Coalesce(_total(notes, "corrects", "gross"), NOTHING),
        received=Coalesce(_total(payments, "invoice", "amount"), NOTHING),
    ).annotate(open_amount=F("gross") - F("credited") - F("received"))


def _left_due() -> Subquery:
    """What an invoice's engagement owes after its settlement; null where none is approved.

    What is kept, less all that came in and did not go back; and what was credited after the
    settlement is not asked for either. At or below nothing, nothing is due.
    """
    engagement = OuterRef("contract_version__engagement")
    payments = Payment.objects.filter(invoice__engagement=engagement)
    refunds = Settlement.objects.filter(contract_version__engagement=engagement, state__in=GONE)
    came_in = Coalesce(_total(payments, "invoice__engagement", "amount"), NOTHING)
    went_back = Coalesce(_total(refunds, "contract_version__engagement", "refund"), NOTHING)
    kept = Least(F("audit_cost") + F("audit_tax"), _billed(engagement))
    agreed = Settlement.objects.filter(
        contract_version__engagement=OuterRef("engagement"), state__in=AGREED
    ).annotate(due=kept + went_back - came_in)
    return Subquery(agreed.order_by("-pk").values("due")[:1], output_field=AMOUNT)


def _is_proposed() -> Exists:
    engagement = OuterRef("engagement")
    proposed = Settlement.objects.filter(state=Settlement.State.PROPOSED)
    return Exists(proposed.filter(contract_version__engagement=engagement))


def _billed(engagement: OuterRef) -> Coalesce:
    """What an engagement's invoices came to, less their credit notes."""
    signed = Case(When(kind=Invoice.Kind.INVOICE, then=F("gross")), default=-F("gross"))
    issued = Invoice.objects.filter(engagement=engagement, state=Invoice.State.ISSUED)
    return Coalesce(_total(issued.annotate(signed=signed), "engagement", "signed"), NOTHING)


def _open_before() -> Subquery:
    """What the invoices issued earlier in an engagement wait for: what is left due goes to them
    first, so that one which follows changes nothing of what they asked for."""
    sooner = Q(issued_at__lt=OuterRef("issued_at"))
    earlier = _with_open(
        Invoice.objects.filter(
            sooner | Q(issued_at=OuterRef("issued_at"), pk__lt=OuterRef("pk")),
            engagement=OuterRef("engagement"),
            kind=Invoice.Kind.INVOICE,
            state=Invoice.State.ISSUED,
        )
    ).annotate(waits=Greatest(F("open_amount"), NOTHING))
    return _total(earlier, "engagement", "waits")


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


def _total(
    rows: QuerySet[Invoice] | QuerySet[Payment] | QuerySet[Settlement], group: str, amount: str
) -> Subquery:
    totals = rows.order_by().values(group).annotate(total=Sum(amount)).values("total")
    return Subquery(totals, output_field=AMOUNT)
