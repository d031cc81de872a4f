"""A mail has a text and an HTML part; what was not delivered is kept and shown."""

from __future__ import annotations

import smtplib
from typing import Any

import pytest
from django.core.mail import EmailMessage, EmailMultiAlternatives
from django.test import Client
from django.urls import reverse

from engagements.engagement.models import Engagement
from engagements.notifications import bounces, mails
from engagements.notifications.models import Mail
from tests.engagements.world import World

REPORT = """\
From: MAILER-DAEMON@example.com
Subject: Undelivered
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: text/plain

It failed.
--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example.com

Final-Recipient: rfc822; {recipient}
Action: {action}
Status: 5.1.1
Diagnostic-Code: smtp; 550 no such user

--b
Content-Type: message/rfc822

Message-ID: <mail-{pk}@localhost>
Subject: S

--b--
"""


def sent(world: World) -> Mail:
    engagement: Engagement = world.scoping()
    mail = mails.write(
        key="k",
        engagement=engagement,
        recipient=world.signatory.email,
        subject="S <b>",
        body=f"{engagement.title}\n\nRead <this>: http://localhost:8000/portal/\n",
    )
    mails.send(mail_id=mail.pk)
    return mail


def report(mail: Mail, **changes: str) -> bytes:
    fields = {"recipient": mail.recipient, "action": "failed", "pk": mail.pk} | changes
    return REPORT.format(**fields).encode()


def test_a_mail_has_a_text_and_an_html_part(world: World, mailoutbox: list[Any]) -> None:
    mail = sent(world)
    [message] = [each for each in mailoutbox if each.subject == "S <b>"]
    assert isinstance(message, EmailMultiAlternatives)
    [(content, kind)] = [(str(content), kind) for content, kind in message.alternatives]
    assert kind == "text/html"
    assert 'href="http://localhost:8000/portal/"' in content
    assert "Read &lt;this&gt;</a>" in content
    assert message.extra_headers["Message-ID"] == f"<mail-{mail.pk}@localhost>"


def test_a_bounce_is_kept_and_shown_to_staff(
    world: World, client: Client, mailoutbox: list[Any]
) -> None:
    mail = sent(world)
    for _ in range(2):
        assert bounces.take(report(mail)) == mail
    mail.refresh_from_db()
    assert mail.bounced_at is not None
    assert "550 no such user" in mail.failure
    assert mail.engagement is not None
    client.force_login(world.consultant)
    page = client.get(reverse("engagement", args=[mail.engagement.reference]))
    assert "550 no such user" in page.content.decode()


@pytest.mark.parametrize(
    "changes", [{"action": "delayed"}, {"recipient": "else@example.com"}, {"pk": "999999"}]
)
def test_other_reports_change_nothing(
    world: World, mailoutbox: list[Any], changes: dict[str, str]
) -> None:
    mail = sent(world)
    assert bounces.take(report(mail, **changes)) is None
    assert bounces.take(b"\xff no report") is None
    mail.refresh_from_db()
    assert mail.bounced_at is None


def test_an_address_refused_for_good_is_not_tried_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(message: EmailMessage) -> int:
        raise smtplib.SMTPRecipientsRefused({message.to[0]: (550, b"no such user")})

    monkeypatch.setattr(EmailMessage, "send", refuse)
    mail = sent(world)
    mail.refresh_from_db()
    assert mail.bounced_at is not None
    assert mail.pk not in mails.waiting()
