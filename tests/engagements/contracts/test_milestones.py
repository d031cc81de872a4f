"""Milestones are released by their condition; a signatory accepts the handover once."""

from decimal import Decimal

from engagements import closing
from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.milestones import handovers
from engagements.contracts.milestones import services as milestones
from engagements.contracts.milestones.conditions import CONDITIONS
from engagements.contracts.milestones.models import Milestone, ReleaseCondition
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Stage
from engagements.event_log import events
from tests.engagements.world import World
from tests.errors import declined


def part(contract: ContractVersion, position: int) -> Milestone:
    return contract.milestones.get(position=position)


def test_the_handover_is_accepted_by_a_signatory_once(world: World) -> None:
    contract = world.met()
    for _ in range(2):
        milestones.accept_handover(
            engagement=contract.engagement, by=world.signatory, address="192.0.2.7"
        )
    assert part(contract, 4).state == "released"
    event = contract.engagement.events.get(verb="handover.accepted")
    assert (event.actor, event.address) == (world.signatory, "192.0.2.7")


def test_nobody_else_accepts_the_handover(world: World) -> None:
    contract = world.met(paid=0)
    for by in (world.viewer, world.stranger, world.consultant, world.finance):
        with declined("access.signatories_only"):
            milestones.accept_handover(engagement=contract.engagement, by=by)


def test_there_is_no_handover_before_the_target_is_met(world: World) -> None:
    contract = world.active()
    with declined("engagement.wrong_stage"):
        milestones.accept_handover(engagement=contract.engagement, by=world.signatory)


def test_a_handover_without_a_milestone_is_accepted_too(world: World) -> None:
    only = [MilestoneDraft("All", Decimal("48000"), "signed")]
    engagement = world.met(paid=1, milestones=only).engagement
    with declined("closing.handover_open"):
        closing.close(engagement=engagement, by=world.consultant)
    handovers.hand_over(engagement=engagement, by=world.consultant)
    for _ in range(2):
        milestones.accept_handover(engagement=engagement, by=world.signatory)
    assert engagement.events.filter(verb="handover.accepted").count() == 1
    with declined("milestone.no_handover"):
        handovers.hand_over(engagement=engagement, by=world.consultant)
    assert closing.close(engagement=engagement, by=world.consultant).stage == Stage.CLOSED


def test_every_condition_is_declared() -> None:
    assert set(CONDITIONS) == set(ReleaseCondition)


def test_the_sweep_releases_every_milestone_whose_condition_holds(world: World) -> None:
    contract = world.active()
    assert milestones.due() == []
    events.record(
        engagement=contract.engagement,
        verb="handover.accepted",
        summary="Accepted.",
        actor=world.signatory,
    )
    assert milestones.due() == [contract]
    assert [row.title for row in milestones.release_due(contract=contract)] == ["Handover"]
    assert milestones.release_due(contract=contract) == []
