"""The cost of a termination follows the contract's clause."""

from __future__ import annotations

from decimal import Decimal

from django.test import Client
from django.urls import reverse

from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.summary import contract_summary_of
from engagements.contracts.time_box import termination
from tests.engagements.world import World, days


def test_the_elapsed_part_of_the_remaining_fee_is_owed(world: World, client: Client) -> None:
    # 18,000 of 48,000 are released; the clock has 42 days.
    contract = world.active(convenience=True)
    clock = contract_summary_of(contract.engagement).clock
    assert clock is not None
    start = contract.starts_on
    first = termination.on_day(contract, clock, start)
    assert (first.released, first.days, first.elapsed) == (18000, 1, Decimal("714.29"))
    half = termination.on_day(contract, clock, start + days(20))
    assert (half.days, half.all_days, half.total) == (21, 42, Decimal(33000))
    over = termination.on_day(contract, clock, start + days(90), is_for_convenience=True)
    assert over.total == contract.fee
    client.force_login(world.consultant)
    page = client.get(reverse("engagement-time", args=[contract.engagement.reference]))
    assert "18,714.29" in page.content.decode()


def test_for_convenience_the_audit_is_owed_at_least(world: World) -> None:
    parts = [MilestoneDraft("Target", Decimal(48000), "target_met")]
    contract = world.active(convenience=True, milestones=parts)
    clock = contract_summary_of(contract.engagement).clock
    assert clock is not None
    for_cause = termination.on_day(contract, clock, contract.starts_on)
    for_convenience = termination.on_day(
        contract, clock, contract.starts_on, is_for_convenience=True
    )
    assert (for_cause.total, for_convenience.total) == (Decimal("1142.86"), 6000)
