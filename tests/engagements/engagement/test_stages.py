"""Every move of an engagement is in one table, in the code and in the database alike."""

from __future__ import annotations

from decimal import Decimal
from itertools import product

import pytest

from engagements import closing
from engagements.contracts.milestones import services as milestones
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log.models import Event
from engagements.ledger.queries import trial_balance
from engagements.payouts import refunds
from engagements.settlements import services as settlements
from tests.engagements.world import World, received, today
from tests.errors import declined


def test_every_other_move_is_refused(world: World) -> None:
    engagement = world.scoping()
    for before, after in product(Stage, Stage):
        engagement.stage = before
        if after not in stages.MOVES[before]:
            with declined("engagement.invalid_move"):
                stages.move(engagement, after)


def test_final_stages_are_final() -> None:
    final = {stage for stage, moves in stages.MOVES.items() if not moves}
    assert final == {Stage.REDIRECTED, Stage.DECLINED, Stage.CANCELLED}


@pytest.mark.parametrize("stage", ["scoping", "auditing", "audited", "offered", "active"])
def test_an_engagement_is_cancelled_before_any_money_arrived(world: World, stage: str) -> None:
    made = getattr(world, stage)()
    engagement = made if isinstance(made, Engagement) else made.engagement
    for _ in range(2):
        cancelled = closing.cancel(engagement=engagement, reason="Sold.", by=world.consultant)
    assert cancelled.stage == Stage.CANCELLED
    assert engagement.events.filter(verb="engagement.cancelled").count() == 1
    assert not engagement.contracts.filter(state="offered").exists()


def test_what_was_billed_but_not_paid_is_void_after_a_cancellation(world: World) -> None:
    contract = world.active()
    world.bill(contract.milestones.get(position=1))
    closing.cancel(engagement=contract.engagement, reason="Sold.", by=world.consultant)
    assert set(contract.milestones.values_list("state", flat=True)) == {"void"}


def test_money_that_arrived_keeps_an_engagement_from_being_cancelled(world: World) -> None:
    contract = world.active()
    world.pay(contract.milestones.get(position=1))
    with declined("engagement.has_payments"):
        closing.cancel(engagement=contract.engagement, reason="Sold.", by=world.consultant)


def test_an_open_acceptance_run_keeps_an_engagement_from_being_cancelled(world: World) -> None:
    contract = world.active()
    world.request(contract)
    with declined("run.acceptance_in_progress"):
        closing.cancel(engagement=contract.engagement, reason="Sold.", by=world.consultant)


def test_a_cancellation_has_a_reason_and_a_consultant(world: World) -> None:
    engagement = world.scoping()
    with declined("validation.missing"):
        closing.cancel(engagement=engagement, reason=" ", by=world.consultant)
    for by in (world.finance, world.signatory):
        with declined("access.consultants_only"):
            closing.cancel(engagement=engagement, reason="Sold.", by=by)


@pytest.mark.parametrize("stage", ["met", "missed"])
def test_a_verdict_is_not_cancelled(world: World, stage: str) -> None:
    contract = getattr(world, stage)(paid=0)
    with declined("engagement.invalid_move"):
        closing.cancel(engagement=contract.engagement, reason="Oh.", by=world.consultant)


def test_a_met_engagement_closes_once_everything_is_billed_paid_and_handed_over(
    world: World,
) -> None:
    contract = world.met(paid=2)
    engagement = contract.engagement

    def refused(code: str) -> None:
        with declined(code):
            closing.close(engagement=engagement, by=world.consultant)

    refused("closing.unbilled")
    target = world.invoice(contract.milestones.get(position=3))
    refused("closing.unpaid")
    received(
        invoice=target,
        amount=Decimal("26180"),
        received_on=today(),
        reference="P",
        by=world.finance,
        confirmed_by=world.controller,
    )
    refused("closing.milestone_pending")
    milestones.accept_handover(engagement=engagement, by=world.signatory)
    refused("closing.unbilled")
    world.pay(contract.milestones.get(position=4))
    for _ in range(2):
        assert closing.close(engagement=engagement, by=world.consultant).stage == Stage.CLOSED
    assert engagement.events.filter(verb="engagement.closed").count() == 1


def test_a_missed_engagement_closes_once_it_is_settled(world: World) -> None:
    settlement = world.settlement()
    engagement = settlement.contract_version.engagement
    with declined("closing.settlement_unpaid"):
        closing.close(engagement=engagement, by=world.finance)
    settlements.approve(settlement=settlement, by=world.finance)
    refunds.mark_paid(settlement=settlement, reference="B-1", by=world.controller)
    assert closing.close(engagement=engagement, by=world.finance).stage == Stage.CLOSED


def test_a_cancelled_engagement_leaves_nothing_on_the_accounts(world: World) -> None:
    contract = world.active()
    world.invoice(contract.milestones.get(position=2))
    for _ in range(2):
        closing.cancel(engagement=contract.engagement, reason="No GPU.", by=world.consultant)
    assert {row.balance for row in trial_balance()} == {Decimal(0)}


def test_a_missed_engagement_stays_open_until_the_audit_is_paid(world: World) -> None:
    settlement = world.settlement(paid=0)
    engagement = settlement.contract_version.engagement
    audit = settlement.contract_version.milestones.get(position=2)
    settlements.approve(settlement=settlement, by=world.finance)
    refunds.mark_paid(settlement=settlement, reference="B-1", by=world.controller)
    with declined("closing.unbilled"):
        closing.close(engagement=engagement, by=world.finance)
    invoice = world.invoice(audit)
    with declined("closing.unpaid"):
        closing.close(engagement=engagement, by=world.finance)
    world.paid_beyond(invoice, settlement.balance_due, "P-1")
    assert closing.close(engagement=engagement, by=world.finance).stage == Stage.CLOSED


def test_a_missed_engagement_without_a_live_settlement_stays_open(world: World) -> None:
    settlement = world.settlement()
    settlements.void(settlement=settlement, reason="Wrong.", by=world.finance)
    with declined("closing.not_settled"):
        closing.close(engagement=settlement.contract_version.engagement, by=world.finance)


def test_nothing_else_is_closed_and_by_nobody_else(world: World) -> None:
    with declined("engagement.wrong_stage"):
        closing.close(engagement=world.scoping(), by=world.consultant)
    with declined("access.staff_only"):
        closing.close(engagement=world.scoping(), by=world.signatory)


def test_every_move_is_in_the_log(world: World) -> None:
    contract = world.met(paid=0)
    log = Event.objects.filter(engagement=contract.engagement, changes__has_key="stage")
    moves = [event.changes["stage"] for event in log.order_by("pk")]
    assert moves == [
        ["scoping", "auditing"],
        ["auditing", "audited"],
        ["audited", "offered"],
        ["offered", "active"],
        ["active", "met"],
    ]
