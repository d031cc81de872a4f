"""Password mails are created by a worker for the current owner of an address."""

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
from tests.engagements.concurrency import run_concurrently
from tests.engagements.world import World, person

SITE = "https://twofold.example.org"


def requested(address: str) -> int:
    password_mails.request(address=address, origin=SITE)
    return PasswordMail.objects.get(address=address.lower()).pk


def send(pk: int) -> bool:
    return password_mails.send(password_mail_id=pk)


def later(monkeypatch: pytest.MonkeyPatch, by: timedelta) -> None:
    now = timezone.now() + by
    monkeypatch.setattr(timezone, "now", lambda: now)


@pytest.fixture
def mail_server_down(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Make sending fail until the returned function is called."""

    def fail(message: EmailMessage) -> int:
        raise smtplib.SMTPServerDisconnected("gone")

    patch = pytest.MonkeyPatch()
    patch.setattr(EmailMessage, "send", fail)
    return patch.undo


def test_a_request_stores_no_link_and_is_deleted_when_sent(
    world: World, mailoutbox: list[EmailMessage]
) -> None:
    pk = requested(world.signatory.email.upper())
    stored = PasswordMail.objects.filter(pk=pk).values().get()
    assert set(stored) == {
        "id", "address", "origin", "inviter", "party", "asked_at", "attempts",
    }  # fmt: skip
    assert send(pk)
    assert not send(pk)
    (mail,) = mailoutbox
    assert mail.to == [world.signatory.email]
    assert f": {SITE}/accounts/password/reset/key/" in mail.body
    assert "3 days" in mail.body
    assert f"-- \n{settings.CONSULTANCY['name']}\n" in mail.body
    assert not PasswordMail.objects.exists()


def test_repeated_requests_make_one_mail(world: World, mailoutbox: list[EmailMessage]) -> None:
    assert requested(world.signatory.email) == requested(world.signatory.email.upper())


@pytest.mark.parametrize("reason", ["unknown", "inactive", "renamed"])
def test_an_address_without_an_account_gets_no_mail(
    world: World, mailoutbox: list[EmailMessage], reason: str
) -> None:
    pk = requested("nobody@example.com" if reason == "unknown" else world.signatory.email)
    if reason == "inactive":
        User.objects.filter(pk=world.signatory.pk).update(is_active=False)
    if reason == "renamed":
        User.objects.filter(pk=world.signatory.pk).update(email="other@example.com")
    assert not send(pk)
    assert mailoutbox == []
    assert not PasswordMail.objects.exists()


def test_a_failed_mail_is_retried_for_a_day(
    world: World,
    mailoutbox: list[EmailMessage],
    monkeypatch: pytest.MonkeyPatch,
    mail_server_down: Callable[[], None],
) -> None:
    pk = requested(world.signatory.email)
    assert not send(pk)
    mail_server_down()
    # Not yet due again.
    assert not send(pk)
    with monkeypatch.context() as patch:
        later(patch, timedelta(minutes=2))
        assert send(pk)
    assert len(mailoutbox) == 1
    pk = requested(world.signatory.email)
    later(monkeypatch, timedelta(hours=25))
    assert not send(pk)
    assert password_mails.waiting() == []
    assert len(mailoutbox) == 1


def test_the_longest_address_of_the_form_is_stored(world: World) -> None:
    assert not send(requested(f"{'a' * 306}@example.com"))


@pytest.mark.django_db(transaction=True)
def test_two_workers_send_one_mail(mailoutbox: list[EmailMessage]) -> None:
    pk = requested(person("Sigrid").email)
    assert sorted(run_concurrently(lambda: send(pk), lambda: send(pk))) == [False, True]
    assert len(mailoutbox) == 1


@pytest.mark.soak
@pytest.mark.django_db(transaction=True)
def test_a_real_worker_sends_a_password_mail(
    celery_worker_process: Callable[..., Any], tmp_path: Path
) -> None:
    sent = tmp_path / "sent"
    celery_worker_process(
        queues="documents", pool="solo", environment={"EMAIL_URL": f"filemail:///{sent}"}
    )
    requested(person("Sigrid").email)
    deadline = time.monotonic() + 20
    while PasswordMail.objects.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not PasswordMail.objects.exists()
    (mail,) = sent.iterdir()
    assert f"{SITE}/accounts/password/reset/key/" in mail.read_text()
