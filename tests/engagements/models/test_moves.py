"""The database lets states go only where they may, whatever the code above it does."""

from __future__ import annotations

import pytest

from engagements import closing
from engagements.contracts import offers
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.payouts import refunds
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.database_constraints import accepted_transitions, write
from tests.engagements.world import World


@pytest.mark.parametrize("stage", Stage)
def test_stages_change_by_the_table_of_transitions(world: World, stage: Stage) -> None:
    engagement = world.scoping()
    engagement.pk, engagement.reference, engagement.stage = None, "TF-2026-9999", stage
    engagement.save(force_insert=True)
    allowed = {move.value for move in stages.MOVES[stage]}
    assert accepted_transitions(engagement, "stage", Stage.values) == allowed
    assert Engagement.objects.get(pk=engagement.pk).stage == stage


def contract_in(world: World, state: str) -> ContractVersion:
    if state == "draft":
        return world.drafted()
    if state in ("accepted", "superseded"):
        contract = world.active()
        write(contract, state=state)
    else:
        contract = world.offered()
    if state == "declined":
        offers.decline(contract=contract, reason="Too dear.", by=world.signatory)
    if state == "withdrawn":
        offers.withdraw(contract=contract, reason="Wrong weeks.", by=world.consultant)
    return ContractVersion.objects.get(pk=contract.pk)


@pytest.mark.parametrize(
    ("state", "onward"),
    [
        ("draft", {"offered"}),
        ("offered", {"accepted", "declined", "withdrawn", "expired"}),
        ("accepted", {"superseded"}),
        ("declined", set()),
        ("withdrawn", set()),
        ("superseded", set()),
    ],
)
def test_states_of_contract_versions_never_revert(
    world: World, state: str, onward: set[str]
) -> None:
    contract = contract_in(world, state)
    assert contract.state == state
    assert accepted_transitions(contract, "state", ContractVersion.State.values) == onward


def milestone_in(world: World, state: str) -> Milestone:
    contract = world.active()
    first, last = contract.milestones.get(position=1), contract.milestones.get(position=4)
    if state == "billed":
        world.bill(first)
    if state == "void":
        closing.cancel(engagement=contract.engagement, reason="Sold.", by=world.consultant)
    found = last if state == "pending" else first
    found.refresh_from_db()
    return found


@pytest.mark.parametrize(
    ("state", "onward"),
    [
        ("pending", {"released", "void"}),
        ("released", {"billed", "void", "pending"}),
        ("billed", {"released", "void"}),
        ("void", {"pending", "released"}),
    ],
)
def test_a_milestone_is_released_then_billed_or_falls_away(
    world: World, state: str, onward: set[str]
) -> None:
    milestone = milestone_in(world, state)
    assert milestone.state == state
    assert accepted_transitions(milestone, "state", Milestone.State.values) == onward


def settlement_in(world: World, state: str) -> Settlement:
    settlement, by = world.settlement(), world.controller
    if state == "voided":
        return settlements.void(settlement=settlement, reason="Wrong.", by=by)
    if state in ("approved", "paying", "failed", "paid"):
        settlement = settlements.approve(settlement=settlement, by=world.finance)
    if state in ("paying", "failed", "paid"):
        settlement = refunds.start_payment(settlement=settlement, by=by)
    if state == "failed":
        settlement = refunds.mark_failed(settlement=settlement, reason="IBAN.", by=world.finance)
    if state == "paid":
        settlement = refunds.mark_paid(settlement=settlement, reference="B-1", by=by)
    return settlement


@pytest.mark.parametrize(
    ("state", "onward"),
    [
        ("proposed", {"approved", "voided"}),
        ("approved", {"paying", "paid", "voided"}),
        ("paying", {"paid", "failed"}),
        ("failed", {"paying", "paid", "voided"}),
        # Only by a return of the bank.
        ("paid", {"failed"}),
        ("voided", set()),
    ],
)
def test_a_settlement_that_is_paid_or_voided_stays_so(
    world: World, state: str, onward: set[str]
) -> None:
    settlement = settlement_in(world, state)
    assert settlement.state == state
    assert accepted_transitions(settlement, "state", Settlement.State.values) == onward
