"""Invitations, password mails, second factors and caching of account pages."""

from __future__ import annotations

import re
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.totp.internal import auth as totp
from django.core.mail import EmailMessage
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from kombu.exceptions import OperationalError

from engagements import tasks
from engagements.notifications import password_mails
from engagements.notifications.models import PasswordMail
from engagements.people.models import User
from tests.engagements.sessions import error_codes
from tests.engagements.world import World
from tests.referee_key import register

pytestmark = pytest.mark.django_db
PASSWORD = "a long enough sentence of words"


def request_password(client: Client, address: str, outbox: list[EmailMessage]) -> str | None:
    """Request a password mail; return the path of its link, None without a mail."""
    before = len(outbox)
    client.post(reverse("account_reset_password"), {"email": address})
    assert len(outbox) == before
    for pk in password_mails.waiting():
        password_mails.send(password_mail_id=pk)
    if len(outbox) == before:
        return None
    assert outbox[-1].to == [address]
    found = re.search(r"https?://[^/]+(/\S+)", str(outbox[-1].body))
    assert found is not None
    return found[1]


def code_now(page: str) -> str:
    """Return the code of an authenticator app for the secret on a page."""
    secret = re.search(r'id="authenticator_secret">(\w+)<', page)
    assert secret is not None
    counter = next(iter(totp.yield_hotp_counters_from_time()))
    return totp.format_hotp_value(totp.hotp_value(secret[1], counter))


def test_an_invited_user_sets_a_password_and_a_second_factor(
    client: Client, world: World, mailoutbox: list[EmailMessage]
) -> None:
    person = world.signatory
    person.set_unusable_password()
    person.save()
    link = request_password(client, person.email, mailoutbox)
    assert link is not None
    assert person.name in mailoutbox[-1].body
    form = client.get(link, follow=True).redirect_chain[-1][0]
    short = client.post(form, {"password1": "2short!", "password2": "2short!"})
    assert error_codes(short.context["form"]) == ["password_too_short"]
    client.post(form, {"password1": PASSWORD, "password2": PASSWORD})
    client.post(reverse("account_login"), {"login": person.email, "password": PASSWORD})

    activate = reverse("mfa_activate_totp")
    asked = client.get(activate, follow=True)
    assert asked.redirect_chain[-1][0].startswith(reverse("account_reauthenticate"))
    proved = client.post(asked.redirect_chain[-1][0], {"password": PASSWORD}, follow=True)
    page = proved.content.decode()
    shown = client.post(activate, {"code": code_now(page)}, follow=True).content.decode()
    assert shown.count("<li><code>") == 10
    code = re.search(r"<li><code>(\d+)<", shown)
    assert code is not None

    other = Client()
    known = {"login": person.email, "password": PASSWORD}
    second = other.post(reverse("account_login"), known, follow=True)
    assert second.redirect_chain[-1][0] == reverse("mfa_authenticate")
    assert other.get(reverse("portal")).status_code == 302
    wrong = other.post(reverse("mfa_authenticate"), {"code": "00000000"})
    assert error_codes(wrong.context["form"]) == ["incorrect_code"]
    other.post(reverse("mfa_authenticate"), {"code": code[1]})
    assert other.get(reverse("portal")).status_code == 200
    third = Client()
    third.post(reverse("account_login"), known)
    again = third.post(reverse("mfa_authenticate"), {"code": code[1]})
    assert error_codes(again.context["form"]) == ["incorrect_code"]

    by_password, by_code = reverse("account_reauthenticate"), reverse("mfa_reauthenticate")
    assert f'href="{by_code}"' in other.get(by_password).content.decode()
    assert f'href="{by_password}"' in other.get(by_code).content.decode()


def test_users_cannot_change_their_address(client: Client, world: World) -> None:
    client.force_login(world.signatory)
    mine = world.signatory.email
    for address in ("/accounts/email/", "/accounts/confirm-email/", "/accounts/confirm-email/x/"):
        assert client.get(address).status_code == 404
        assert client.post(address, {"action_add": "", "email": "a@b.example"}).status_code == 404
    assert User.objects.get(pk=world.signatory.pk).email == mine


def test_a_former_address_gets_no_password_mail(
    client: Client, world: World, mailoutbox: list[EmailMessage]
) -> None:
    person, left = world.signatory, world.signatory.email
    assert request_password(client, left, mailoutbox) is not None
    admin = Client()
    admin.force_login(world.admin)
    given = {"email": "successor@people.example", "name": person.name, "role": person.role}
    given |= {"is_active": "on", "memberships-TOTAL_FORMS": "0", "memberships-INITIAL_FORMS": "0"}
    saved = admin.post(reverse("admin:engagements_user_change", args=[person.pk]), given)
    assert saved.status_code == 302, saved.content.decode()

    assert request_password(client, left, mailoutbox) is None
    assert request_password(client, "successor@people.example", mailoutbox) is not None
    assert not EmailAddress.objects.filter(email=left).exists()


@pytest.mark.parametrize("change", [{"is_active": False}, {"role": "finance"}])
def test_a_link_expires_when_the_account_or_role_changes(
    client: Client, world: World, mailoutbox: list[EmailMessage], change: dict[str, Any]
) -> None:
    person = world.signatory
    link = request_password(client, person.email, mailoutbox)
    opened = request_password(client, person.email, mailoutbox)
    assert link is not None
    assert opened is not None
    form = client.get(opened, follow=True).redirect_chain[-1][0]
    User.objects.filter(pk=person.pk).update(**change)
    assert Client().get(link, follow=True).context["token_fail"]
    client.post(form, {"password1": PASSWORD, "password2": PASSWORD})
    person.refresh_from_db()
    assert not person.check_password(PASSWORD)


def test_too_many_password_mails_are_429(client: Client, world: World) -> None:
    answers = [
        client.post(reverse("account_reset_password"), {"email": f"{n}@people.example"})
        for n in range(21)
    ]
    assert answers[0].status_code == 302
    page = answers[-1].content.decode()
    assert answers[-1].status_code == 429
    assert reverse("pitch") not in page.partition("<main")[2].partition("</main>")[0]


def test_customers_are_403_on_the_admin_site(client: Client, world: World) -> None:
    client.force_login(world.signatory)
    refused = client.get("/admin/", follow=True)
    assert refused.status_code == 403
    assert 'oops__code">403<' in refused.content.decode()


@override_settings(SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"))
def test_behind_a_proxy_limits_apply_to_each_address(
    client: Client, world: World, empty_rate_limits: None
) -> None:
    def status(number: int, written: str) -> int:
        """Request one more mail with this X-Forwarded-For."""
        asked = {"email": f"{number}@people.example"}
        reset = reverse("account_reset_password")
        return client.post(reset, asked, headers={"X-Forwarded-For": written}).status_code

    answers = [status(number, f"192.0.2.{number}, 203.0.113.9") for number in range(21)]
    assert answers == [302] * 20 + [429]
    assert status(21, "203.0.113.10") == 302


@override_settings(SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"))
def test_an_ipv6_network_shares_one_limit(
    client: Client, world: World, empty_rate_limits: None
) -> None:
    def status(number: int) -> int:
        asked = {"email": f"{number}@people.example"}
        headers = {"X-Forwarded-For": f"2001:db8:1:1::{number:x}"}
        return client.post(reverse("account_reset_password"), asked, headers=headers).status_code

    assert [status(number) for number in range(21)] == [302] * 20 + [429]


def test_password_requests_do_not_reveal_accounts(
    client: Client, world: World, empty_rate_limits: None, mailoutbox: list[EmailMessage]
) -> None:
    """Known and unknown addresses cause the same queries and no mail."""
    reset, asked = reverse("account_reset_password"), {}
    for address in (world.signatory.email, "nobody@people.example"):
        with CaptureQueriesContext(connection) as queries:
            answer = client.post(reset, {"email": address})
        statements = [query["sql"].partition(" ")[0] for query in queries]
        asked[address] = (answer.status_code, answer["Location"], statements)
        assert not any("engagements_user" in query["sql"] for query in queries)
    known, unknown = asked.values()
    assert known == unknown
    assert mailoutbox == []
    assert PasswordMail.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_the_sweep_sends_mails_requested_while_the_broker_was_down(
    client: Client, empty_rate_limits: None, mailoutbox: list[EmailMessage]
) -> None:
    world = World()

    def away(*_: object) -> None:
        raise OperationalError("the broker is away")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks.send_password_mail, "delay", away)
        answer = client.post(
            reverse("account_reset_password"), {"email": world.signatory.email.upper()}
        )
        assert answer.status_code == 302
    assert mailoutbox == []
    tasks.sweep()
    assert [mail.to for mail in mailoutbox] == [[world.signatory.email]]
    assert not PasswordMail.objects.exists()


def test_pages_of_signed_in_users_are_not_cached(client: Client, world: World) -> None:
    engagement = world.scoping()
    mine = reverse("portal-engagement", args=[engagement.reference])
    pages = ("portal", "mfa_index", "account_logout", "api-engagements-list")
    client.force_login(world.signatory)
    for address in (mine, "/portal/none/", *map(reverse, pages)):
        assert client.get(address)["Cache-Control"] == "private, no-store", address
    for_everybody = client.get(reverse("public-key", args=[register().key_id]))
    assert not {"Cache-Control", "Vary"} & set(for_everybody.headers)
    client.logout()
    assert "no-store" not in client.get(reverse("verify")).get("Cache-Control", "")
