"""People are notified once of each event that concerns them, as they chose."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.mail import EmailMessage
from django.test import Client
from django.urls import reverse

import engagements
from engagements import closing
from engagements.engagement.models import Engagement
from engagements.event_log import events as event_log
from engagements.notifications import delivery, digests, mails, preferences
from engagements.notifications.events import EVENTS, Topic, UnknownEvent, event_type
from engagements.notifications.models import Channel, Mail, Notification, Preference
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
    delivery.notify(event)
    key = f"event:{event.engagement_id}:{event.position}"
    recipients = Mail.objects.filter(key=key).values_list("recipient", flat=True)
    assert sorted(recipients) == sorted([world.signatory.email, other.email])


def test_internal_events_are_not_mailed(world: World) -> None:
    settlement = world.settlement()
    settlements.void(settlement=settlement, reason="Internal figures.", by=world.finance)
    assert not Mail.objects.filter(body__contains="Internal figures.").exists()
    event = settlement.contract_version.engagement.events.filter(for_customer=False).last()
    assert event is not None
    event.verb = "engagement.met"
    before = Mail.objects.count()
    delivery.notify(event)
    assert Mail.objects.count() == before


def test_an_event_that_the_registry_does_not_list_is_refused(world: World) -> None:
    engagement = world.scoping()
    with pytest.raises(UnknownEvent):
        event_log.record(engagement=engagement, verb="tea.made", summary="Tea.", actor=None)


def test_every_verb_that_the_services_record_is_registered() -> None:
    literal = re.compile(r'verb="([a-z_]+\.[a-z_]+)"')
    sources = (path.read_text() for path in Path(engagements.__file__).parent.rglob("*.py"))
    verbs = {verb for source in sources for verb in literal.findall(source)}
    assert len(verbs) > 40
    assert verbs <= EVENTS.keys()


def test_a_signatory_may_mute_a_topic_but_not_its_notices(world: World) -> None:
    engagement = world.scoping()
    preferences.choose(person=world.signatory, channels={Topic.RUNS: Channel.NONE})
    for verb in ("run.announced", "engagement.met"):
        event_log.record(
            engagement=engagement, verb=verb, summary="S.", actor=None, for_customer=True
        )
    subjects = Mail.objects.filter(recipient=world.signatory.email).values_list("subject")
    assert [event_type("run.announced").title in subject for (subject,) in subjects] == [
        False,
        True,
    ]
    told = Notification.objects.filter(person=world.signatory)
    assert {row.event.verb for row in told} == {"engagement.opened", "run.announced"}


def test_a_digest_is_one_mail_a_day_with_what_has_happened(
    world: World, mailoutbox: list[EmailMessage]
) -> None:
    engagement = world.scoping()
    preferences.choose(person=world.consultant, channels={Topic.AUDIT: Channel.DIGEST})
    for summary in ("First file.", "Second file."):
        event_log.record(
            engagement=engagement, verb="evidence.added", summary=summary, actor=world.signatory
        )
    assert digests.due() == [world.consultant]
    digest = digests.write(person=world.consultant)
    assert digest is not None
    assert digests.due() == []
    assert digests.write(person=world.consultant) is None
    assert mails.send(mail_id=digest.pk)
    [sent] = [mail for mail in mailoutbox if mail.to == [world.consultant.email]]
    assert "First file." in str(sent.body)
    assert "Second file." in str(sent.body)
    assert f"/engagements/{engagement.reference}/" in str(sent.body)


def test_the_lead_is_notified_of_others_alone(world: World) -> None:
    engagement = world.scoping()
    for actor in (world.signatory, world.consultant):
        event_log.record(
            engagement=engagement, verb="evidence.added", summary=f"{actor}.", actor=actor
        )
    told = Notification.objects.filter(person=world.consultant)
    assert [row.event.actor for row in told] == [world.signatory]


def test_notifications_are_read_by_their_person_alone(world: World, client: Client) -> None:
    engagement = world.scoping()
    event_log.record(
        engagement=engagement, verb="evidence.added", summary="A file.", actor=world.signatory
    )
    row = Notification.objects.get(person=world.consultant)
    opens = reverse("notification-open", args=[row.pk])
    client.force_login(world.stranger)
    assert client.post(opens).status_code == 404
    assert "A file." not in client.get(reverse("notifications")).content.decode()
    client.force_login(world.consultant)
    assert "A file." in client.get(reverse("notifications")).content.decode()
    assert client.post(opens).headers["Location"] == row.path
    row.refresh_from_db()
    assert row.read_at is not None


def test_channels_are_chosen_on_a_page(world: World, client: Client) -> None:
    client.force_login(world.viewer)
    chosen = dict.fromkeys(map(str, Topic), Channel.NONE.value)
    page = reverse("notification-settings")
    assert client.post(page, chosen | {"runs": "digest"}).status_code == 302
    rows = Preference.objects.filter(person=world.viewer)
    assert dict(rows.values_list("topic", "channel")) == chosen | {"runs": "digest"}
    assert client.post(page, chosen | {"runs": "pigeon"}).status_code == 422
