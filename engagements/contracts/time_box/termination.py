"""The cost of a termination by the contract's clause, on a given day.

The consultancy keeps what is due for released milestones; of the remaining fee the customer owes
the part that corresponds to the elapsed part of the time-box. For convenience the total is at
least the cost of the audit and at most the fee.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from engagements.common.money import quantize
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box.burn_down import BurnDown


@dataclass(frozen=True)
class Termination:
    """The total that the customer owes, net: `released` milestones and `elapsed` of the rest.

    `days` of the `all_days` of the clock have passed.
    """

    on: date
    released: Decimal
    elapsed: Decimal
    total: Decimal
    days: int
    all_days: int
    currency: str


def on_day(
    contract: ContractVersion, clock: BurnDown, day: date, *, is_for_convenience: bool = False
) -> Termination:
    """The cost of a termination that takes effect on `day`."""
    currency = contract.currency
    released = released_net(contract)
    # The day itself has passed when the termination takes effect.
    passed = clock.total - clock.left_after(day)
    rest = contract.fee - released
    elapsed = quantize(rest * passed / clock.total, currency)
    total = released + elapsed
    if is_for_convenience:
        total = min(max(total, contract.audit_cost), contract.fee)
    return Termination(day, released, elapsed, total, passed, clock.total, currency)


def released_net(contract: ContractVersion) -> Decimal:
    """The net of the milestones that are released or billed, over all agreed versions."""
    agreed = (ContractVersion.State.ACCEPTED, ContractVersion.State.SUPERSEDED)
    milestones = Milestone.objects.filter(
        contract_version__engagement=contract.engagement_id,
        contract_version__state__in=agreed,
        state__in=(Milestone.State.RELEASED, Milestone.State.BILLED),
    )
    return sum((row.amount for row in milestones), Decimal(0))
