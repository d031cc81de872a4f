"""Wrong passwords block the network that sends them, not the owner of the account."""

from __future__ import annotations

import re
import time

import pytest
from django.core.mail import EmailMessage
from django.test import Client
from django.urls import reverse

from engagements.notifications import password_mails
from engagements.people.models import User
from tests.engagements.sessions import error_codes
from tests.engagements.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_rate_limits")]
PASSWORD = "a long enough sentence of words"
HOME, ELSEWHERE = "198.51.100.7", "203.0.113.9"
TOO_MANY = "too_many_login_attempts"


@pytest.fixture
def owner(world: World) -> User:
    world.signatory.set_password(PASSWORD)
    world.signatory.save()
    return world.signatory


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of rate limits; advance its one number."""
    now = [time.time()]
    monkeypatch.setattr("allauth.core.internal.ratelimit.time.time", lambda: now[0])
    return now


def attempt(user: User, network: str, password: str = "wrong") -> str:
    """Sign in from this network; return "in" or the error codes of the form."""
    answer = Client(REMOTE_ADDR=network).post(
        reverse("account_login"), {"login": user.email, "password": password}
    )
    return "in" if answer.status_code == 302 else " ".join(error_codes(answer.context["form"]))


def attempt_from_networks(user: User, clock: list[float], networks: int) -> None:
    for number in range(networks):
        for _ in range(5):
            attempt(user, f"192.0.2.{number}")
        clock[0] += 1


def test_a_stranger_s_attempts_do_not_block_the_owner(owner: User) -> None:
    answers = [attempt(owner, ELSEWHERE) for _ in range(6)]
    assert [TOO_MANY in answer for answer in answers] == [False] * 5 + [True]
    assert TOO_MANY in attempt(owner, ELSEWHERE, PASSWORD)
    assert attempt(owner, HOME, PASSWORD) == "in"


def test_the_owner_reauthenticates_while_a_stranger_is_blocked(owner: User) -> None:
    at_home = Client(REMOTE_ADDR=HOME)
    at_home.post(reverse("account_login"), {"login": owner.email, "password": PASSWORD})
    for _ in range(6):
        attempt(owner, ELSEWHERE)
    again = at_home.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    assert again.status_code == 302


def test_an_ipv6_network_counts_as_one_address(owner: User) -> None:
    answers = [attempt(owner, f"2001:db8:1:1::{number:x}") for number in range(6)]
    assert [TOO_MANY in answer for answer in answers] == [False] * 5 + [True]


def test_one_network_has_twenty_attempts_an_hour(owner: User, clock: list[float]) -> None:
    wrong = 0
    for _ in range(12):
        wrong += sum(TOO_MANY not in attempt(owner, ELSEWHERE) for _ in range(5))
        clock[0] += 299.9
    assert wrong == 20


def test_all_networks_have_fifty_attempts_an_hour(owner: User, clock: list[float]) -> None:
    attempt_from_networks(owner, clock, 10)
    assert TOO_MANY in attempt(owner, "192.0.2.100")
    assert TOO_MANY in attempt(owner, "192.0.2.101", PASSWORD)
    clock[0] += 3600
    assert TOO_MANY not in attempt(owner, "192.0.2.100")


def test_a_known_network_is_not_blocked_by_others(owner: User, clock: list[float]) -> None:
    assert attempt(owner, HOME, PASSWORD) == "in"
    attempt_from_networks(owner, clock, 10)
    assert TOO_MANY in attempt(owner, ELSEWHERE, PASSWORD)
    assert attempt(owner, HOME, PASSWORD) == "in"
    answers = [attempt(owner, HOME) for _ in range(6)]
    assert [TOO_MANY in answer for answer in answers] == [False] * 5 + [True]


def test_right_passwords_are_not_counted(owner: User, clock: list[float]) -> None:
    for number in range(60):
        assert attempt(owner, f"192.0.2.{number}", PASSWORD) == "in"
    assert TOO_MANY not in attempt(owner, ELSEWHERE)


def test_a_password_reset_lifts_the_block(
    owner: User, clock: list[float], mailoutbox: list[EmailMessage]
) -> None:
    attempt_from_networks(owner, clock, 10)
    here = Client(REMOTE_ADDR=HOME)
    held_up = here.post(reverse("account_login"), {"login": owner.email, "password": PASSWORD})
    assert TOO_MANY in error_codes(held_up.context["form"])
    here.post(reverse("account_reset_password"), {"email": owner.email})
    [waiting] = password_mails.waiting()
    password_mails.send(password_mail_id=waiting)
    link = re.search(r"https?://[^/]+(/\S+)", str(mailoutbox[-1].body))
    assert link is not None
    form = here.get(link[1], follow=True).redirect_chain[-1][0]
    chosen = "another long enough sentence"
    here.post(form, {"password1": chosen, "password2": chosen})
    attempt_from_networks(owner, clock, 10)
    assert attempt(owner, HOME, chosen) == "in"
