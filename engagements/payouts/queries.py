"""Invoices for which more came in than they ask, and where the rest may go."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from django.db.models import QuerySet

from engagements.billing.balances import issued_invoices, open_invoices
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.engagement.models import Engagement, Stage
from engagements.payouts.models import OverpaymentRefund
from engagements.settlements.queries import live_settlements

if TYPE_CHECKING:
    from engagements.billing.balances import InvoiceWithBalance


def overpaid_invoices() -> QuerySet[InvoiceWithBalance]:
    """Issued invoices for which more arrived than was owed, the newest first.

    Not those whose money a settlement counts: it goes back with that.
    """
    return (
        issued_invoices()
        .filter(open_amount__lt=Decimal(0))
        .exclude(engagement__stage=Stage.MISSED)
        .exclude(engagement__in=live_settlements().values("contract_version__engagement"))
        .order_by("-issued_on", "-pk")
    )


def open_overpayment_refunds() -> QuerySet[OverpaymentRefund]:
    """Overpayments that wait for somebody to send them, or for the bank, the longest first."""
    return (
        OverpaymentRefund.objects.filter(state__in=OverpaymentRefund.OPEN)
        .select_related("invoice__engagement__customer", "proposed_by", "sent_by", "file")
        .order_by("proposed_at", "pk")
    )


def overpayment_refunds_of(invoice: Invoice) -> QuerySet[OverpaymentRefund]:
    """What was proposed to be paid back of an invoice, the newest first, with who did what."""
    people = ("proposed_by", "sent_by", "ended_by", "file")
    return invoice.overpayment_refunds.select_related(*people).order_by("-proposed_at", "-pk")


def excess_of(invoice: InvoiceWithBalance) -> Decimal:
    """What came in beyond what the invoice asks, gross; nothing where nothing did."""
    return max(-invoice.open_amount, Decimal(0))


def rest_of(invoice: InvoiceWithBalance, going: OverpaymentRefund | None) -> Decimal:
    """What is too much of the invoice, gross, beside what is `going` back of it: a proposal takes
    its part, and what is on its way has left the invoice."""
    taken = (
        going.amount if going and going.state == OverpaymentRefund.State.PROPOSED else Decimal(0)
    )
    return max(excess_of(invoice) - taken, Decimal(0))


def settled_by(engagement: Engagement) -> bool:
    """Whether what came in for an engagement goes back by its settlement alone."""
    is_live = live_settlements().filter(contract_version__engagement=engagement).exists()
    return is_live or engagement.stage == Stage.MISSED


def may_take(invoice: Invoice) -> QuerySet[InvoiceWithBalance]:
    """Other open invoices of the same customer and currency, the one due first at the head."""
    return (
        open_invoices()
        .filter(customer=invoice.customer_id, currency=invoice.currency)
        .exclude(pk=invoice.pk)
    )


def payments_for(invoice: Invoice) -> QuerySet[Payment]:
    """What came in for an invoice and left it again, with what `Payment.description` reads."""
    return invoice.payments.select_related(
        "recorded_by", "moved_from__invoice", "moved_to__invoice"
    )
