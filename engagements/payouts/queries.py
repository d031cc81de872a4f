"""Overpaid invoices, refunds of overpayments, and invoices that an overpayment may be moved to."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from django.db.models import QuerySet

from engagements.billing.balances import issued_invoices, open_invoices
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.engagement.models import Stage
from engagements.payouts.overpayment_models import OverpaymentRefund
from engagements.settlements.queries import live_settlements

if TYPE_CHECKING:
    from engagements.billing.balances import InvoiceWithBalance


def overpaid_invoices() -> QuerySet[InvoiceWithBalance]:
    """Overpaid invoices outside any settlement, the newest first."""
    return (
        issued_invoices()
        .filter(open_amount__lt=Decimal(0))
        .exclude(charge__isnull=True, engagement__stage=Stage.MISSED)
        .exclude(
            charge__isnull=True,
            engagement__in=live_settlements().values("contract_version__engagement"),
        )
        .order_by("-issued_on", "-pk")
    )


def open_overpayment_refunds() -> QuerySet[OverpaymentRefund]:
    """Refunds of overpayments that are proposed or on their way, the oldest first."""
    return (
        OverpaymentRefund.objects.filter(state__in=OverpaymentRefund.OPEN)
        .select_related("invoice__engagement__customer", "proposed_by", "sent_by", "file")
        .order_by("proposed_at", "pk")
    )


def overpaid_amount(invoice: InvoiceWithBalance) -> Decimal:
    """The amount by which the invoice is overpaid (gross), or zero."""
    return max(-invoice.open_amount, Decimal(0))


def remaining_overpayment(invoice: InvoiceWithBalance, refund: OverpaymentRefund | None) -> Decimal:
    """The overpaid amount (gross) less that of an open `refund`.

    A proposed refund is still on the invoice; a sent one has left it.
    """
    is_proposed = refund is not None and refund.state == OverpaymentRefund.State.PROPOSED
    proposed = refund.amount if refund is not None and is_proposed else Decimal(0)
    return max(overpaid_amount(invoice) - proposed, Decimal(0))


def is_covered_by_settlement(invoice: Invoice) -> bool:
    """Whether the invoice's payments are refunded by the engagement's settlement alone."""
    if invoice.charge_id:
        return False
    engagement = invoice.engagement
    is_live = live_settlements().filter(contract_version__engagement=engagement).exists()
    return is_live or engagement.stage == Stage.MISSED


def eligible_invoices(invoice: Invoice) -> QuerySet[InvoiceWithBalance]:
    """Other open invoices of the same customer and currency, the earliest due date first."""
    return (
        open_invoices()
        .filter(customer=invoice.customer_id, currency=invoice.currency)
        .exclude(pk=invoice.pk)
    )


def payments_for(invoice: Invoice) -> QuerySet[Payment]:
    """The invoice's payments, incoming and outgoing, with the rows that their labels read."""
    return invoice.payments.select_related(
        "recorded_by", "confirmation__confirmed_by", "moved_from__invoice", "moved_to__invoice"
    )
