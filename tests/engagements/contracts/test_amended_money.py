"""Payments and milestones across an amendment: each is counted once."""

from __future__ import annotations

from decimal import Decimal

from engagements import closing
from engagements.billing import credit_notes
from engagements.contracts import offers
from engagements.contracts.milestones import services as handing_over
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Stage
from engagements.workbench.summary import summary_of
from tests.engagements.contracts.amendment_steps import amended, in_force
from tests.engagements.world import World, fresh


def repriced(world: World, contract: ContractVersion) -> ContractVersion:
    return in_force(world, amended(world, contract, fee=Decimal("60000")))


def test_payments_before_an_amendment_are_refunded_too(world: World) -> None:
    contract = world.active()
    world.pay(contract.milestones.get(position=1))
    new = repriced(world, contract)
    world.conclude(world.request(new), "missed")
    settlement = new.settlements.get()
    # 12,000 with 19% were paid under version 1; the audit and its tax are kept.
    assert settlement.payments_received == Decimal("14280")
    assert settlement.refund == Decimal("7140")


def test_what_was_credited_is_not_asked_for_again_by_an_amendment(world: World) -> None:
    contract = world.active()
    invoice = world.invoice(contract.milestones.get(position=1))
    credit_notes.credit(invoice=invoice, reason="For the delay.")
    new = repriced(world, contract)
    assert new.previously_released == Decimal("18000")
    assert sum(row.amount for row in new.milestones.all()) == Decimal("42000")


def test_a_met_target_leads_to_the_end_with_every_part_paid_once(world: World) -> None:
    contract = world.active()
    world.pay(contract.milestones.get(position=1))
    new = repriced(world, contract)
    world.pay(contract.milestones.get(position=2))
    world.conclude(world.request(new), "met")
    engagement = fresh(contract.engagement)
    summary = summary_of(engagement)
    assert [row.title for row in summary.milestones] == [
        "Signature",
        "Audit",
        "Target",
        "Handover",
    ]
    assert sum(row.amount for row in summary.milestones) == new.fee
    handing_over.accept_handover(engagement=engagement, by=world.signatory)
    for milestone in new.milestones.order_by("position"):
        world.pay(milestone)
    assert closing.close(engagement=engagement, by=world.finance).stage == Stage.CLOSED


def test_a_declined_version_keeps_nothing_open(world: World) -> None:
    first = world.offered()
    offers.decline(contract=first, reason="No.", by=world.signatory)
    contract = world.active(fresh(first.engagement))
    for position in (1, 2):
        world.pay(contract.milestones.get(position=position))
    world.conclude(world.request(contract), "met")
    engagement = fresh(contract.engagement)
    handing_over.accept_handover(engagement=engagement, by=world.signatory)
    for position in (3, 4):
        world.pay(contract.milestones.get(position=position))
    assert closing.close(engagement=engagement, by=world.finance).stage == Stage.CLOSED
