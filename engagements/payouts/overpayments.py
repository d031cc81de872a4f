"""Overpayments: money beyond what an invoice asks, moved to another invoice.

What came in for an engagement whose target was missed, or that is being settled, is counted by
its settlement and goes back with that alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from engagements.access import require_finance
from engagements.billing import postings
from engagements.billing.balances import balance_of
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.engagement import stages
from engagements.engagement.models import Engagement
from engagements.event_log import events
from engagements.ledger import effects
from engagements.ledger.effects import Effect
from engagements.ledger.positions import positions_of
from engagements.payouts.queries import excess_of, may_take, settled_by
from engagements.people.models import User

Kind = Payment.Kind


@dataclass(frozen=True)
class Planned:
    """What an act would post for one engagement, by account: debit positive, credit negative."""

    engagement: Engagement
    effect: Effect


def preview_move(*, invoice: Invoice, to: Invoice, amount: Decimal) -> list[Planned]:
    """What moving `amount` would post: nothing within one engagement, whose money it stays."""
    if invoice.engagement_id == to.engagement_id:
        return []
    source = positions_of(invoice.engagement, invoice.currency)
    target = positions_of(to.engagement, to.currency)
    return [
        Planned(invoice.engagement, effects.moved_out(source, amount)),
        Planned(to.engagement, effects.moved_in(target, amount)),
    ]


@transaction.atomic
def move(*, invoice: Invoice, to: Invoice, amount: Decimal, reference: str, by: User) -> Payment:
    """Put `amount` (gross) of what came in beyond `invoice` to another open one.

    Both are of one customer and currency. The same `reference` is the same move. Returns the
    payment that arrives.
    """
    require_finance(by)
    # Everything that locks two engagements does so in the order of their keys.
    for engagement in sorted({invoice.engagement_id, to.engagement_id}):
        stages.locked(engagement)
    source, target = _read(invoice), _read(to)
    amount, reference = _said(source, amount, reference)
    known = source.payments.filter(reference=reference).first()
    if known:
        arrived = Payment.objects.filter(moved_from=known, invoice=target).first()
        if arrived is None or arrived.amount != amount:
            raise ApplicationError(
                f"A payment {reference} is recorded already, with other figures.",
                code="payouts.todo",
            )
        return arrived
    require_excess(source, amount)
    _require_takes(source, target, amount)
    left = leave(source, Kind.MOVED, amount, reference, by)
    arrived = Payment(
        invoice=target,
        kind=Kind.MOVED,
        amount=amount,
        received_on=left.received_on,
        reference=reference,
        moved_from=left,
        recorded_by=by,
    )
    validation.save_validated(arrived)
    _tell_move(source, target, amount, reference, by)
    if source.engagement_id != target.engagement_id:
        _post_move(left, arrived)
    return arrived


def _post_move(left: Payment, arrived: Payment) -> None:
    postings.payment_moved(left)
    postings.payment_moved(arrived)


def _read(invoice: Invoice) -> Invoice:
    return Invoice.objects.select_related("engagement").get(pk=invoice.pk)


def _said(invoice: Invoice, amount: Decimal, reference: str) -> tuple[Decimal, str]:
    amount = validation.amount(amount, invoice.currency, noun="The amount")
    if amount <= 0:
        raise ApplicationError("What leaves an invoice is more than nothing.", code="payouts.todo")
    return amount, validation.text(reference, noun="The reference")


def leave(
    invoice: Invoice, kind: Payment.Kind, amount: Decimal, reference: str, by: User
) -> Payment:
    """Take `amount` (gross) today out of an invoice that has so much too much."""
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


def require_excess(invoice: Invoice, amount: Decimal) -> None:
    """Refuse where no more than `amount` came in beyond the invoice, or a settlement counts it."""
    if settled_by(invoice.engagement):
        raise ApplicationError(
            f"What came in for {invoice.engagement.reference} is counted by its settlement, and "
            "goes back with that.",
            code="payouts.todo",
        )
    excess = excess_of(balance_of(invoice))
    if amount > excess:
        shown = format_money(excess, invoice.currency)
        raise ApplicationError(
            f"{invoice.reference} has {shown} too much; {amount:f} would be more.",
            code="payouts.todo",
        )


def _require_takes(source: Invoice, target: Invoice, amount: Decimal) -> None:
    if not may_take(source).filter(pk=target.pk).exists():
        raise ApplicationError(
            "Money is moved to another open invoice of the same customer and currency.",
            code="payouts.todo",
        )
    due = balance_of(target).amount_due
    if amount > due:
        left = format_money(due, target.currency)
        raise ApplicationError(
            f"{target.reference} has {left} open; {amount:f} would be too much.",
            code="payouts.todo",
        )


def _tell_move(source: Invoice, target: Invoice, amount: Decimal, reference: str, by: User) -> None:
    shown = format_money(amount, source.currency)
    summary = f"{shown} more than {source.reference} asks was put to {target.reference}."
    for engagement in {source.engagement, target.engagement}:
        events.record(
            engagement=engagement,
            verb="payment.moved",
            summary=summary,
            actor=by,
            changes={
                "from": source.pk,
                "to": target.pk,
                "amount": str(amount),
                "reference": reference,
            },
            for_customer=True,
        )
