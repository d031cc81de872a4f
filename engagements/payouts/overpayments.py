"""Overpayments: money beyond the amount of an invoice, moved to another invoice.

The settlement of an engagement counts all its payments, so nothing is moved beside it.
"""

from __future__ import annotations

from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from engagements.access import require_finance
from engagements.billing import payments, postings
from engagements.billing.balances import balance_of
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.engagement import stages
from engagements.event_log import events
from engagements.ledger import effects
from engagements.ledger.models import Entry
from engagements.payouts.queries import (
    eligible_invoices,
    is_covered_by_settlement,
    overpaid_amount,
)
from engagements.people.models import User
from engagements.settlements.calculation import PlannedEntry

Kind = Payment.Kind


def preview_move(*, invoice: Invoice, to: Invoice, amount: Decimal) -> list[PlannedEntry]:
    """Return the ledger entries of moving `amount`: one for each invoice."""
    source = postings.position_of(invoice)
    out = effects.moved_out(source, amount)
    is_one = invoice.engagement_id == to.engagement_id and not to.charge_id
    target = source.plus(out) if is_one and not invoice.charge_id else postings.position_of(to)
    kind = Entry.Kind.PAYMENT_MOVED
    return [
        PlannedEntry(kind, invoice.reference, out),
        PlannedEntry(kind, to.reference, effects.moved_in(target, amount)),
    ]


@transaction.atomic
def move(*, invoice: Invoice, to: Invoice, amount: Decimal, reference: str, by: User) -> Payment:
    """Move `amount` (gross) of an overpayment to another open invoice.

    Both invoices have the same customer and currency. Idempotent by `reference`; with other
    figures a repeated one is declined. Returns the payment on the invoice `to`.
    """
    require_finance(by)
    # Engagements are always locked in the order of their keys.
    for engagement in sorted({invoice.engagement_id, to.engagement_id}):
        stages.locked(engagement)
    source, target = _reload(invoice), _reload(to)
    amount = positive_amount(source, amount)
    reference = validation.text(reference, noun="The reference")
    existing = source.payments.filter(reference=reference).first()
    if existing:
        return _already_moved(existing, target, amount)
    require_overpaid(source, amount)
    _require_amount_due(source, target, amount)
    outgoing = withdraw(source, Kind.MOVED, amount, reference, by)
    incoming = Payment(
        invoice=target,
        kind=Kind.MOVED,
        amount=amount,
        received_on=outgoing.received_on,
        reference=reference,
        moved_from=outgoing,
        recorded_by=by,
    )
    validation.save_validated(incoming)
    _record_move(incoming, source, by)
    postings.payment_moved(outgoing)
    postings.payment_moved(incoming)
    return incoming


def _reload(invoice: Invoice) -> Invoice:
    return Invoice.objects.select_related("engagement").get(pk=invoice.pk)


def _already_moved(existing: Payment, target: Invoice, amount: Decimal) -> Payment:
    incoming = Payment.objects.filter(moved_from=existing, invoice=target, amount=amount).first()
    if incoming is None:
        raise ApplicationError(
            f"A payment {existing.reference} with other figures is already recorded.",
            code="overpayment.already_moved",
        )
    return incoming


def positive_amount(invoice: Invoice, amount: Decimal) -> Decimal:
    """Return `amount` as an exact amount above zero in the invoice's currency."""
    amount = validation.amount(amount, invoice.currency, noun="The amount")
    if amount <= 0:
        raise ApplicationError(
            "Enter an amount greater than zero.", code="overpayment.amount_not_positive"
        )
    return amount


def withdraw(
    invoice: Invoice, kind: Payment.Kind, amount: Decimal, reference: str, by: User
) -> Payment:
    """Record today's outgoing payment of `amount` (gross) on an overpaid invoice."""
    payment = Payment(
        invoice=invoice,
        kind=kind,
        amount=-amount,
        received_on=timezone.localdate(),
        reference=reference,
        recorded_by=by,
    )
    validation.save_validated(payment)
    return payment


def require_overpaid(invoice: Invoice, amount: Decimal) -> None:
    """Require the invoice to be overpaid by `amount`, outside any settlement."""
    if is_covered_by_settlement(invoice):
        raise ApplicationError(
            f"The settlement of {invoice.engagement.reference} counts this payment and refunds it.",
            code="overpayment.covered_by_settlement",
        )
    payments.require_confirmed(invoice.payments.all())
    overpaid = overpaid_amount(balance_of(invoice))
    if amount > overpaid:
        shown = format_money(overpaid, invoice.currency)
        raise ApplicationError(
            f"{invoice.reference} is overpaid by {shown}: enter at most that.",
            code="overpayment.exceeded",
        )


def _require_amount_due(source: Invoice, target: Invoice, amount: Decimal) -> None:
    if not eligible_invoices(source).filter(pk=target.pk).exists():
        raise ApplicationError(
            "Choose another open invoice of the same customer and currency.",
            code="overpayment.invoice_not_eligible",
        )
    amount_due = balance_of(target).amount_due
    if amount > amount_due:
        shown = format_money(amount_due, target.currency)
        raise ApplicationError(
            f"{target.reference} has {shown} open: enter at most that.",
            code="overpayment.amount_due_exceeded",
        )


def _record_move(incoming: Payment, source: Invoice, by: User) -> None:
    target = incoming.invoice
    shown = format_money(incoming.amount, source.currency)
    for engagement in {source.engagement, target.engagement}:
        events.record(
            engagement=engagement,
            verb="payment.moved",
            summary=f"{shown} overpaid on {source.reference} was moved to {target.reference}.",
            actor=by,
            changes={
                "from": source.pk,
                "to": target.pk,
                "amount": str(incoming.amount),
                "reference": incoming.reference,
            },
            for_customer=True,
        )
