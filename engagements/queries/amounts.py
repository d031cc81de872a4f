"""Figures of one milestone, gross: what it comes to, what arrived, what is open.

They read `milestone.contract_version` and `milestone.payments.all()`, so a list of milestones
wants both fetched with it.
"""

from __future__ import annotations

from decimal import Decimal

from engagements.models import Milestone
from engagements.money import gross_of


def gross(milestone: Milestone) -> Decimal:
    """The milestone's amount with its tax, in the contract's currency."""
    contract = milestone.contract_version
    return gross_of(milestone.amount, contract.tax_rate_percent, contract.currency)


def received(milestone: Milestone) -> Decimal:
    """What was paid for the milestone so far, gross."""
    return sum((payment.amount for payment in milestone.payments.all()), Decimal(0))


def outstanding(milestone: Milestone) -> Decimal:
    """What is still to be paid for a billed milestone, gross; nothing for any other."""
    if milestone.state != Milestone.State.BILLED:
        return Decimal(0)
    return gross(milestone) - received(milestone)
