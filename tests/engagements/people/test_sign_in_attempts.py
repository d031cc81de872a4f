"""Wrong passwords hold up the network that they come from, and not whoever has the address."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from django.core.mail import EmailMessage
from django.test import Client
from django.urls import reverse

from engagements.notifications import password_mails
from engagements.people.models import User
from tests.engagements.signing_in import error_codes
from tests.engagements.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_asked")]
PASSWORD = "a long enough sentence of words"
HOME, ELSEWHERE = "198.51.100.7", "203.0.113.9"
TOO_MANY = "too_many_login_attempts"


@pytest.fixture
def owner(world: World, settings: Any) -> User:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    world.signatory.set_password(PASSWORD)
    world.signatory.save()
    return world.signatory


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that attempts are counted by: its one number may be put forward."""
    now = [time.time()]
    monkeypatch.setattr("allauth.core.internal.ratelimit.time.time", lambda: now[0])
    return now


def tried(user: User, network: str, password: str = "wrong") -> str:
    """Sign in from this network; return "in" or the error codes of the form."""
    answer = Client(REMOTE_ADDR=network).post(
        reverse("account_login"), {"login": user.email, "password": password}
    )
    return "in" if answer.status_code == 302 else " ".join(error_codes(answer.context["form"]))


def tried_from_everywhere(user: User, clock: list[float], networks: int) -> None:
    for number in range(networks):
        for _ in range(5):
            tried(user, f"192.0.2.{number}")
        clock[0] += 1


def test_a_strangers_attempts_do_not_keep_the_owner_out(owner: User) -> None:
    answers = [tried(owner, ELSEWHERE) for _ in range(6)]
    assert [TOO_MANY in answer for answer in answers] == [False] * 5 + [True]
    assert TOO_MANY in tried(owner, ELSEWHERE, PASSWORD)
    assert tried(owner, HOME, PASSWORD) == "in"


def test_the_owner_goes_on_proving_who_they_are_while_a_stranger_tries(owner: User) -> None:
    at_home = Client(REMOTE_ADDR=HOME)
    at_home.post(reverse("account_login"), {"login": owner.email, "password": PASSWORD})
    for _ in range(6):
        tried(owner, ELSEWHERE)
    again = at_home.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    assert again.status_code == 302


def test_a_household_of_ipv6_has_no_more_attempts_than_anybody(owner: User) -> None:
    answers = [tried(owner, f"2001:db8:1:1::{number:x}") for number in range(6)]
    assert [TOO_MANY in answer for answer in answers] == [False] * 5 + [True]


def test_whoever_waits_between_attempts_has_twenty_in_an_hour(
    owner: User, clock: list[float]
) -> None:
    wrong = 0
    for _ in range(12):
        wrong += sum(TOO_MANY not in tried(owner, ELSEWHERE) for _ in range(5))
        clock[0] += 299.9
    assert wrong == 20


def test_many_networks_guess_no_more_than_fifty_times_in_an_hour(
    owner: User, clock: list[float]
) -> None:
    tried_from_everywhere(owner, clock, 10)
    assert TOO_MANY in tried(owner, "192.0.2.100")
    assert TOO_MANY in tried(owner, "192.0.2.101", PASSWORD)
    clock[0] += 3600
    assert TOO_MANY not in tried(owner, "192.0.2.100")


def test_many_networks_do_not_keep_the_owner_out_of_where_they_signed_in_before(
    owner: User, clock: list[float]
) -> None:
    assert tried(owner, HOME, PASSWORD) == "in"
    tried_from_everywhere(owner, clock, 10)
    assert TOO_MANY in tried(owner, ELSEWHERE, PASSWORD)
    assert tried(owner, HOME, PASSWORD) == "in"
    # There, too, five are five.
    answers = [tried(owner, HOME) for _ in range(6)]
    assert [TOO_MANY in answer for answer in answers] == [False] * 5 + [True]


def test_a_right_password_is_no_attempt_in_vain(owner: User, clock: list[float]) -> None:
    for number in range(60):
        assert tried(owner, f"192.0.2.{number}", PASSWORD) == "in"
    assert TOO_MANY not in tried(owner, ELSEWHERE)


def test_a_link_that_came_by_mail_lets_the_owner_in_from_anywhere(
    owner: User, clock: list[float], mailoutbox: list[EmailMessage]
) -> None:
    tried_from_everywhere(owner, clock, 10)
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
    tried_from_everywhere(owner, clock, 10)
    assert tried(owner, HOME, chosen) == "in"
