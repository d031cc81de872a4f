"""Every event of the registry makes mails with a text and an HTML part, whose link opens."""

from __future__ import annotations

import re

import pytest
from django.core.mail import EmailMessage
from django.test import Client
from django.urls import resolve

from engagements.event_log import events
from engagements.notifications.events import EVENTS, Topic
from engagements.notifications.html_part import with_html
from engagements.notifications.models import Channel, Mail
from engagements.notifications.preferences import choose
from engagements.people.models import User
from tests.engagements.world import World

pytestmark = pytest.mark.django_db
SUMMARY = "A summary of what happened."


def require_both_parts(mail: Mail) -> None:
    """Both parts say subject, engagement, summary and link; the button has a label of its own."""
    [(html, kind)] = with_html(EmailMessage(mail.subject, mail.body)).alternatives
    assert kind == "text/html"
    assert mail.engagement is not None
    for part in (mail.body, str(html)):
        assert SUMMARY in part, mail.key
        assert mail.engagement.title in part, mail.key
    [link] = re.findall(r"https?://\S+", mail.body)
    label = re.search(rf'<a href="{re.escape(link)}"[^>]*>([^<]+)</a>', str(html))
    assert label is not None, mail.key
    assert label[1] != "Open the page", mail.key
    assert f"{label[1]}: {link}" in mail.body


def links_of(text: str) -> list[str]:
    return re.findall(r"https?://[^/\s]+(/\S*)", text)


def test_every_registered_mail_has_both_parts_and_a_link_that_opens(
    world: World, client: Client
) -> None:
    settlement = world.settlement()
    engagement = settlement.contract_version.engagement
    people = (world.signatory, world.consultant, world.finance)
    for person in people:
        choose(person=person, channels=dict.fromkeys(Topic, Channel.MAIL))
    facts = {
        "settlement": settlement.pk,
        "invoice": engagement.invoices.latest("pk").pk,
    }
    Mail.objects.all().delete()
    pages: dict[str, str] = {}
    for verb, kind in EVENTS.items():
        assert ":" not in kind.title + kind.finance_title, verb
        before = set(Mail.objects.values_list("pk", flat=True))
        events.record(
            engagement=engagement,
            verb=verb,
            summary=SUMMARY,
            actor=None,
            changes=facts if kind.finance_title else {},
            for_customer=bool(kind.portal_lead),
        )
        written = Mail.objects.exclude(pk__in=before)
        readers = {mail.recipient for mail in written}
        assert (world.signatory.email in readers) == bool(kind.portal_lead), verb
        assert (world.consultant.email in readers) == kind.for_lead, verb
        assert (world.finance.email in readers) == bool(kind.finance_title), verb
        for mail in written:
            require_both_parts(mail)
            [page] = links_of(mail.body)
            pages[page] = mail.recipient
    closed = {
        str(resolve(page).url_name)
        for page, recipient in pages.items()
        if not opens(client, page, User.objects.get(email=recipient))
    }
    # This engagement has no audit order.
    assert closed == {"portal-audit-order"}


def opens(client: Client, page: str, reader: User) -> bool:
    client.force_login(reader)
    return client.get(page).status_code == 200
