"""Released, billed, paid: each step by finance, each once."""

from datetime import date
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction

from engagements.errors import Refused
from engagements.models import ContractVersion, Milestone, Payment
from engagements.queries.amounts import gross, outstanding, received
from engagements.services import milestones, settlements
from engagements.services.contracts import MilestoneDraft
from tests.engagements.world import World, days, today


def part(contract: ContractVersion, position: int) -> Milestone:
    return contract.milestones.get(position=position)


def record(world: World, milestone: Milestone, **changes: object) -> Payment:
    return milestones.record_payment(
        **{
            "milestone": milestone,
            "amount": Decimal("14280.00"),
            "received_on": today(),
            "reference": "P-1",
            "by": world.finance,
        }
        | changes
    )


def test_a_released_milestone_is_billed_once(world: World) -> None:
    milestone = part(world.active(), 1)
    billed = milestones.bill(milestone=milestone, reference=" R-1 ", by=world.finance)
    again = milestones.bill(milestone=milestone, reference="R-1", by=world.finance)
    assert (billed.state, billed.billing_reference) == ("billed", "R-1")
    assert again.billed_at == billed.billed_at
    with pytest.raises(Refused, match="already, as R-1"):
        milestones.bill(milestone=milestone, reference="R-2", by=world.finance)


def test_what_is_not_released_is_not_billed(world: World) -> None:
    contract = world.active()
    with pytest.raises(Refused, match="is pending"):
        world.bill(part(contract, 3))
    contract = world.missed()
    with pytest.raises(Refused, match="is void"):
        world.bill(part(contract, 3))


def test_a_bill_has_a_reference(world: World) -> None:
    with pytest.raises(Refused, match="reference"):
        milestones.bill(milestone=part(world.active(), 1), reference=" ", by=world.finance)


def test_a_payment_is_gross_and_at_most_what_is_open(world: World) -> None:
    milestone = world.bill(part(world.active(), 1))
    assert gross(milestone) == Decimal("14280.00")
    record(world, milestone, amount=Decimal("4280"))
    assert outstanding(part(milestone.contract_version, 1)) == Decimal("10000.00")
    with pytest.raises(Refused, match=r"has EUR\s10,000\.00 open"):
        record(world, milestone, amount=Decimal("10000.01"), reference="P-2")
    record(world, milestone, amount=Decimal("10000"), reference="P-2")
    assert received(milestone) == gross(milestone)


def test_the_same_reference_is_the_same_payment(world: World) -> None:
    milestone = world.bill(part(world.active(), 1))
    assert record(world, milestone) == record(world, milestone)
    with pytest.raises(Refused, match="other figures"):
        record(world, milestone, amount=Decimal("1"))


def test_a_payment_that_did_not_happen_is_refused(world: World) -> None:
    milestone = world.bill(part(world.active(), 1))
    for changes, why in (
        ({"amount": Decimal("0")}, "more than nothing"),
        ({"amount": Decimal("-5")}, "more than nothing"),
        ({"amount": Decimal("1.001")}, "exact amount"),
        ({"reference": " "}, "reference"),
        ({"received_on": date(2999, 1, 1)}, "has arrived"),
    ):
        with pytest.raises(Refused, match=why):
            record(world, milestone, **changes)
    assert not Payment.objects.exists()


def test_nothing_is_received_for_what_was_not_billed(world: World) -> None:
    with pytest.raises(Refused, match="not billed"):
        record(world, part(world.active(), 1))


def test_a_payment_is_never_changed(world: World) -> None:
    payment = record(world, world.bill(part(world.active(), 1)))
    with pytest.raises(IntegrityError), transaction.atomic():
        Payment.objects.filter(pk=payment.pk).update(amount=1)
    with pytest.raises(IntegrityError), transaction.atomic():
        payment.delete()


def test_only_finance_moves_money(world: World) -> None:
    contract = world.active()
    released, billed = part(contract, 1), world.bill(part(contract, 2))
    for by in (world.consultant, world.admin, world.signatory, world.nobody):
        with pytest.raises(Refused, match="finance"):
            milestones.bill(milestone=released, reference="R-1", by=by)
        with pytest.raises(Refused, match="finance"):
            record(world, billed, by=by)


def test_a_payment_that_crosses_a_settlement_is_counted_by_the_next_one(world: World) -> None:
    contract = world.active()
    world.pay(part(contract, 1))
    late = world.bill(part(contract, 2))
    world.conclude(world.request(contract), "missed")
    settlement = contract.settlements.get()
    late = part(contract, 2)
    assert (late.state, late.billing_reference) == ("void", f"R-{late.pk}")
    with pytest.raises(Refused, match="void it first"):
        record(world, late, amount=Decimal("7140"))
    settlements.void(settlement=settlement, reason="A late payment.", by=world.finance)
    record(world, late, amount=Decimal("7140"))
    settlement = settlements.propose(contract=contract, reason="missed", by=world.finance)
    assert settlement.payments_received == Decimal("21420.00")
    with pytest.raises(Refused, match="not billed"):
        record(world, part(contract, 3), reference="P-3")


def test_a_closed_engagement_takes_no_money(world: World) -> None:
    settlement = world.settlement(paid=1)
    contract = settlement.contract_version
    milestone = part(contract, 1)
    type(contract.engagement).objects.filter(pk=contract.engagement_id).update(stage="closed")
    with pytest.raises(Refused, match="Closed"):
        record(world, milestone, reference="late", amount=Decimal("1"))


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
        with pytest.raises(Refused, match="signatory"):
            milestones.accept_handover(engagement=contract.engagement, by=by)


def test_there_is_no_handover_before_the_target_is_met(world: World) -> None:
    contract = world.active()
    with pytest.raises(Refused, match="Target met"):
        milestones.accept_handover(engagement=contract.engagement, by=world.signatory)


def test_a_handover_that_was_not_agreed_is_not_accepted(world: World) -> None:
    only = [MilestoneDraft("All", Decimal("48000"), "signed")]
    contract = world.met(paid=0, milestones=only)
    with pytest.raises(Refused, match="No handover"):
        milestones.accept_handover(engagement=contract.engagement, by=world.signatory)


def test_yesterday_s_payment_is_recorded_today(world: World) -> None:
    milestone = world.bill(part(world.active(), 1))
    assert record(world, milestone, received_on=today() - days(1)).received_on < today()
