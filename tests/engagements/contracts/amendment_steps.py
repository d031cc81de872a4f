"""Amendments of the tests' world: drafted, offered, and in force once both accept."""

from __future__ import annotations

from typing import Any

from engagements.contracts import amendments, offers
from engagements.contracts.drafting import PauseDraft
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.time_box.models import TimeBox
from tests.engagements.world import World, days, today

CUSTOMER, HOUSE = Party.CUSTOMER, Party.CONSULTANCY


def amended(world: World, contract: ContractVersion, **to: Any) -> ContractVersion:
    """An amendment, drafted and offered. `to` is the argument of its kind."""
    change = next(kind for kind, name in amendments.ARGUMENT.items() if name in to)
    drafted = amendments.draft(
        engagement=contract.engagement,
        change=change,
        reason="As agreed on the phone.",
        by=world.consultant,
        **to,
    )
    return offers.offer(contract=drafted, by=world.consultant)


def in_force(world: World, contract: ContractVersion) -> ContractVersion:
    world.accept(contract, CUSTOMER)
    return world.accept(contract, HOUSE)


def pause(first: int, last: int) -> PauseDraft:
    """A pause from the `first` to the `last` day after today."""
    return PauseDraft(today() + days(first), today() + days(last), "The customer", "No weights.")


def box_of(contract: ContractVersion) -> TimeBox:
    return TimeBox.objects.get(engagement=contract.engagement)
