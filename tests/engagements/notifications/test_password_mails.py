"""A mail to choose a password: made by a worker for who has the address then, and kept nowhere."""

from __future__ import annotations

import smtplib
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.mail import EmailMessage
from django.utils import timezone

from engagements.notifications import password_mails
from engagements.notifications.models import PasswordMail
from engagements.people.models import User
from tests.engagements.settlements.test_races import together
from tests.engagements.world import World, person

SITE = "https://twofold.example.org"


def ask(address: str) -> int:
    password_mails.ask(address=address, origin=SITE)
    return PasswordMail.objects.get(address=address.lower()).pk


def send(pk: int) -> bool:
    return password_mails.send(password_mail_id=pk)


def later(monkeypatch: pytest.MonkeyPatch, by: timedelta) -> None:
    now = timezone.now() + by
    monkeypatch.setattr(timezone, "now", lambda: now)


@pytest.fixture
def mail_server_is_away(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Until it is called nothing can be sent."""

    def fail(message: EmailMessage) -> int:
        raise smtplib.SMTPServerDisconnected("gone")

    patch = pytest.MonkeyPatch()
    patch.setattr(EmailMessage, "send", fail)
    return patch.undo


def test_what_waits_holds_no_link_and_what_is_sent_is_gone(
    world: World, mailoutbox: list[EmailMessage]
) -> None:
    pk = ask(world.signatory.email.upper())
    kept = PasswordMail.objects.filter(pk=pk).values().get()
    assert set(kept) == {"id", "address", "origin", "asked_at", "attempts"}
    assert send(pk)
    assert not send(pk)
    (mail,) = mailoutbox
    assert mail.to == [world.signatory.email]
    assert f"\n{SITE}/accounts/password/reset/key/" in mail.body
    assert "asked for it at twofold.example.org" in mail.body
    assert "works once, and for 3 days:" in mail.body
    assert f"-- \n{settings.CONSULTANCY['name']}\n" in mail.body
    assert not PasswordMail.objects.exists()


def test_asked_twice_before_it_went_out_it_is_one_mail(
    world: World, mailoutbox: list[EmailMessage]
) -> None:
    assert ask(world.signatory.email) == ask(world.signatory.email.upper())


@pytest.mark.parametrize("gone", ["nobody", "closed", "renamed"])
def test_whoever_has_no_such_address_when_it_is_sent_gets_none(
    world: World, mailoutbox: list[EmailMessage], gone: str
) -> None:
    pk = ask("nobody@example.com" if gone == "nobody" else world.signatory.email)
    if gone == "closed":
        User.objects.filter(pk=world.signatory.pk).update(is_active=False)
    if gone == "renamed":
        User.objects.filter(pk=world.signatory.pk).update(email="other@example.com")
    assert not send(pk)
    assert mailoutbox == []
    assert not PasswordMail.objects.exists()


def test_while_the_mail_server_is_away_it_waits_and_not_for_ever(
    world: World,
    mailoutbox: list[EmailMessage],
    monkeypatch: pytest.MonkeyPatch,
    mail_server_is_away: Callable[[], None],
) -> None:
    mail_is_back = mail_server_is_away
    pk = ask(world.signatory.email)
    assert not send(pk)
    mail_is_back()
    # Not yet due again.
    assert not send(pk)
    with monkeypatch.context() as patch:
        later(patch, timedelta(minutes=2))
        assert send(pk)
    assert len(mailoutbox) == 1
    pk = ask(world.signatory.email)
    later(monkeypatch, timedelta(hours=25))
    assert not send(pk)
    assert password_mails.waiting() == []
    assert len(mailoutbox) == 1


def test_an_address_as_long_as_a_form_takes_one_is_asked_for(world: World) -> None:
    assert not send(ask(f"{'a' * 306}@example.com"))


@pytest.mark.django_db(transaction=True)
def test_two_workers_send_one_mail(mailoutbox: list[EmailMessage]) -> None:
    pk = ask(person("Sigrid").email)
    assert sorted(together(lambda: send(pk), lambda: send(pk))) == [False, True]
    assert len(mailoutbox) == 1


@pytest.mark.django_db(transaction=True)
def test_a_real_worker_sends_what_a_page_asked_for(
    celery_worker_process: Callable[..., Any], tmp_path: Path
) -> None:
    sent = tmp_path / "sent"
    celery_worker_process(
        queues="documents", pool="solo", environment={"EMAIL_URL": f"filemail:///{sent}"}
    )
    ask(person("Sigrid").email)
    deadline = time.monotonic() + 20
    while PasswordMail.objects.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not PasswordMail.objects.exists()
    (mail,) = sent.iterdir()
    assert f"{SITE}/accounts/password/reset/key/" in mail.read_text()
