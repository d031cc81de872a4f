"""The portal's list begins with what waits for the customer, and says so there."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements import access
from engagements.contracts import offers
from engagements.contracts.milestones import handovers
from engagements.contracts.milestones import services as milestones
from engagements.contracts.models import Party
from engagements.contracts.time_box.models import Pause
from engagements.engagement.models import Engagement
from engagements.payouts import refund_accounts
from engagements.portal.queries import portal_engagement
from engagements.portal.status import NOBODY, OPEN_INVOICE, next_step
from engagements.portal.turns import customers_turn_first
from engagements.settlements import disputes
from engagements.settlements import services as settlements
from tests.engagements.world import World, days, today

IBAN = "DE02120300000000202051"


def paused(world: World) -> Engagement:
    contract = world.drafted()
    Pause.objects.create(
        contract_version=contract,
        starts_on=today(),
        ends_on=today() + days(3),
        waits_for="Longprompt AG",
        reason="The weights are on their way.",
    )
    contract = offers.offer(contract=contract, by=world.consultant)
    world.accept(contract, Party.CUSTOMER)
    return world.accept(contract, Party.CONSULTANCY).engagement


def accepted_by_the_customer(world: World) -> Engagement:
    contract = world.offered()
    world.accept(contract, Party.CUSTOMER)
    return contract.engagement


def delivered(world: World) -> Engagement:
    engagement = world.met().engagement
    handovers.hand_over(engagement=engagement, by=world.consultant)
    return engagement


def handed_over(world: World, *, billed: bool) -> Engagement:
    contract = world.met()
    milestones.accept_handover(engagement=contract.engagement, by=world.signatory)
    if billed:
        world.invoice(contract.milestones.get(condition="target_met"))
    return contract.engagement


def disputed(world: World) -> Engagement:
    row = world.settlement(dispute_days=14)
    disputes.raise_dispute(settlement=row, reason="Too little.", by=world.signatory)
    return row.contract_version.engagement


def owing_the_audit(world: World, *, is_approved: bool) -> Engagement:
    contract = world.active()
    world.invoice(contract.milestones.get(condition="audit_delivered"))
    world.conclude(world.request(contract), "missed")
    if is_approved:
        settlements.approve(settlement=contract.settlements.get(), by=world.finance)
    return contract.engagement


WAITING: dict[str, Callable[[World], Engagement]] = {
    "an offer": lambda world: world.offered().engagement,
    "the handover": delivered,
    "a bill after the verdict": lambda world: handed_over(world, billed=True),
    "the audit of a missed one": lambda world: owing_the_audit(world, is_approved=True),
    "where the refund goes": lambda world: world.missed().engagement,
    "a pause": paused,
}
OURS: dict[str, Callable[[World], Engagement]] = {
    "a draft": lambda world: world.drafted().engagement,
    "our signature": accepted_by_the_customer,
    "work": lambda world: world.active().engagement,
    "a handover to deliver": lambda world: world.met().engagement,
    "a bill to write": lambda world: handed_over(world, billed=False),
    "a dispute": disputed,
    "what is left of the audit": lambda world: owing_the_audit(world, is_approved=False),
}


def test_what_waits_for_the_customer_comes_first_and_says_so(world: World) -> None:
    theirs = [make(world).pk for make in WAITING.values()]
    ours = [make(world).pk for make in OURS.values()]
    found = list(customers_turn_first(Engagement.objects.all()))
    assert [row.pk for row in found] == [*reversed(theirs), *reversed(ours)]
    for row in found:
        step = next_step(portal_engagement(row, today=timezone.localdate()), can_sign=True)
        is_ours = step.who_label.startswith("us") or step.who_label == NOBODY
        assert is_ours == (row.pk in ours), (row.stage, step)


def test_a_refund_whose_account_is_known_is_our_turn(world: World) -> None:
    missed, newer = world.missed().engagement, world.active().engagement
    assert list(customers_turn_first(Engagement.objects.all())) == [missed, newer]
    refund_accounts.add(
        customer=world.customer, holder="Longprompt AG", iban=IBAN, bic="", by=world.signatory
    )
    assert list(customers_turn_first(Engagement.objects.all())) == [newer, missed]


@pytest.mark.parametrize("who", ["viewer", "stranger"])
def test_the_list_holds_the_company_s_own_alone(client: Client, world: World, who: str) -> None:
    mine = world.offered().engagement
    person = getattr(world, who)
    client.force_login(person)
    page = client.get(reverse("portal")).content.decode()
    assert (mine.reference in page) == access.engagements_for(person).exists()


def test_ongoing_work_does_not_hide_an_open_invoice(client: Client, world: World) -> None:
    contract = world.active()
    client.force_login(world.signatory)
    assert OPEN_INVOICE not in client.get(reverse("portal")).content.decode()
    world.invoice(contract.milestones.get(position=1))
    assert OPEN_INVOICE in client.get(reverse("portal")).content.decode()
