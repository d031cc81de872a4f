"""Signatories get one mail for each event that concerns them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client

from engagements import closing
from engagements.engagement.models import Engagement
from engagements.notifications import engagement_mails
from engagements.notifications.models import Mail
from engagements.payouts import refunds
from engagements.settlements import services as settlements
from tests.engagements.world import World


def met(world: World) -> Engagement:
    return world.met().engagement


def cancelled(world: World) -> Engagement:
    engagement = world.scoping()
    return closing.cancel(engagement=engagement, reason="No budget.", by=world.consultant)


def refunded(world: World) -> Engagement:
    row = settlements.approve(settlement=world.settlement(), by=world.finance)
    refunds.mark_paid(settlement=row, reference="B-1", by=world.controller)
    return row.contract_version.engagement


@pytest.mark.parametrize(
    ("make", "verbs"),
    [
        (met, {"engagement.met"}),
        (cancelled, {"engagement.cancelled"}),
        (
            refunded,
            {"audit.delivered", "engagement.missed", "settlement.approved", "settlement.paid"},
        ),
    ],
)
def test_signatories_are_mailed_a_link_that_only_their_company_can_open(
    world: World, client: Client, make: Callable[[World], Engagement], verbs: set[str]
) -> None:
    engagement = make(world)
    for verb in verbs:
        event = engagement.events.get(verb=verb)
        mail = Mail.objects.get(key=f"event:{engagement.pk}:{event.position}")
        assert mail.recipient == world.signatory.email
        assert engagement.title in mail.subject
        assert event.summary in mail.body
        [link] = re.findall(r"http://localhost:8000(/\S+)$", mail.body, re.MULTILINE)
        client.force_login(world.signatory)
        assert client.get(link).status_code == 200
        client.force_login(world.stranger)
        assert client.get(link).status_code == 404


def test_every_signatory_gets_each_mail_once(world: World) -> None:
    other = world.also_signs("second")
    event = cancelled(world).events.get(verb="engagement.cancelled")
    engagement_mails.notify(event)
    recipients = Mail.objects.values_list("recipient", flat=True)
    assert sorted(recipients) == sorted([world.signatory.email, other.email])


def test_internal_events_are_not_mailed(world: World) -> None:
    settlement = world.settlement()
    settlements.void(settlement=settlement, reason="Internal figures.", by=world.finance)
    assert not Mail.objects.filter(body__contains="Internal figures.").exists()
    event = settlement.contract_version.engagement.events.filter(for_customer=False).last()
    assert event is not None
    event.verb = "engagement.met"
    before = Mail.objects.count()
    engagement_mails.notify(event)
    assert Mail.objects.count() == before
