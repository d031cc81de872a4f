"""Those who may bind a customer are mailed at the turns of an engagement, once each."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client

from engagements import closing
from engagements.engagement.models import Engagement
from engagements.notifications import turns
from engagements.notifications.models import Mail
from engagements.payouts import refunds
from engagements.settlements import services as settlements
from tests.engagements.world import World


def delivered(world: World) -> Engagement:
    return world.audited()


def cancelled(world: World) -> Engagement:
    engagement = world.scoping()
    return closing.cancel(engagement=engagement, reason="No budget.", by=world.consultant)


def approved(world: World) -> Engagement:
    row = settlements.approve(settlement=world.settlement(), by=world.finance)
    return row.contract_version.engagement


def paid(world: World) -> Engagement:
    engagement = approved(world)
    row = engagement.contracts.get(settlements__isnull=False).settlements.get()
    refunds.mark_paid(settlement=row, reference="B-1", by=world.finance)
    return engagement


TURNS: dict[str, tuple[Callable[[World], Engagement], str, str]] = {
    "audit delivered": (delivered, "The audit is delivered", "6 of 6 checks pass"),
    "target met": (lambda world: world.met().engagement, "The target is met", "was met"),
    "target missed": (
        lambda world: world.missed().engagement,
        "What was paid is being settled",
        "The target was missed",
    ),
    "cancelled": (cancelled, "The engagement is cancelled", "No budget."),
    "settlement approved": (approved, "The settlement is approved", "of what was paid goes back"),
    "settlement paid": (paid, "The settlement is done", "reference B-1"),
}


@pytest.mark.parametrize("turn", TURNS)
def test_whoever_may_sign_is_told_and_led_to_where_it_stands(
    world: World, client: Client, turn: str
) -> None:
    come_to, subject, told = TURNS[turn]
    engagement = come_to(world)
    [mail] = [mail for mail in Mail.objects.all() if mail.subject.startswith(f"{subject}: ")]
    assert mail.recipient == world.signatory.email
    assert engagement.title in mail.subject
    assert told in mail.body
    [link] = re.findall(r"http://localhost:8000(/\S+)$", mail.body, re.MULTILINE)
    client.force_login(world.signatory)
    assert client.get(link).status_code == 200
    client.force_login(world.stranger)
    assert client.get(link).status_code == 404


def test_every_signatory_has_one_of_each_and_a_second_telling_changes_nothing(
    world: World,
) -> None:
    other = world.also_signs("second")
    engagement = cancelled(world)
    event = engagement.events.get(verb="engagement.cancelled")
    turns.tell(event)
    recipients = Mail.objects.values_list("recipient", flat=True)
    assert sorted(recipients) == sorted([world.signatory.email, other.email])


def test_what_the_customer_may_not_read_is_mailed_to_nobody(world: World) -> None:
    settlement = world.settlement()
    settlements.void(settlement=settlement, reason="Figures for the house only.", by=world.finance)
    assert not Mail.objects.filter(body__contains="Figures for the house only.").exists()
    engagement = settlement.contract_version.engagement
    event = engagement.events.filter(for_customer=False).last()
    assert event is not None
    event.verb = "engagement.met"
    before = Mail.objects.count()
    turns.tell(event)
    assert Mail.objects.count() == before
