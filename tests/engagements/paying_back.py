"""Overpayments of the tests' world, sent back by two people as far as a test wants."""

from __future__ import annotations

from decimal import Decimal

from engagements.models import Invoice, PayBack
from engagements.services import pay_backs
from tests.engagements.world import World


def sent_back(world: World, invoice: Invoice, amount: Decimal) -> PayBack:
    """Proposed by one person of finance, sent by the other by hand: on its way."""
    row = pay_backs.propose(invoice=invoice, amount=amount, by=world.finance)
    return pay_backs.send(pay_back=row, by=world.controller)


def paid_back(world: World, invoice: Invoice, amount: Decimal) -> PayBack:
    """And arrived."""
    row = sent_back(world, invoice, amount)
    return pay_backs.mark_paid(pay_back=row, reference=f"B-{row.pk}", by=world.finance)
