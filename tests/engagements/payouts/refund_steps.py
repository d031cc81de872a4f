"""Refund an overpayment by two people, up to a chosen step."""

from __future__ import annotations

from decimal import Decimal

from engagements.billing.models import Invoice
from engagements.payouts import overpayment_refunds
from engagements.payouts.overpayment_models import OverpaymentRefund
from tests.engagements.world import World


def start_refund(world: World, invoice: Invoice, amount: Decimal) -> OverpaymentRefund:
    """Proposed by one person of finance, sent by the other by hand: on its way."""
    row = overpayment_refunds.propose(invoice=invoice, amount=amount, by=world.finance)
    return overpayment_refunds.send(refund=row, by=world.controller)


def complete_refund(world: World, invoice: Invoice, amount: Decimal) -> OverpaymentRefund:
    """And arrived."""
    row = start_refund(world, invoice, amount)
    return overpayment_refunds.mark_paid(refund=row, reference=f"B-{row.pk}", by=world.finance)
