"""Changes to a user also end a sign-in between password and code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from allauth.mfa.totp.internal import auth as totp
from django.contrib import messages
from django.test import Client
from django.urls import reverse

from engagements.people.models import User
from tests.engagements.world import World, person

pytestmark = pytest.mark.django_db
PASSWORD = "a long enough sentence of words"


def code_for(secret: str) -> str:
    counter = next(iter(totp.yield_hotp_counters_from_time()))
    return totp.format_hotp_value(totp.hotp_value(secret, counter))


@pytest.fixture
def half_way(world: World, empty_rate_limits: None) -> tuple[Client, User, Callable[[], str]]:
    """A sign-in after the password and before the code."""
    user = person("Sigrun")
    user.set_password(PASSWORD)
    user.save()
    secret = totp.generate_totp_secret()
    totp.TOTP.activate(user, secret)
    client = Client()
    asked = client.post(reverse("account_login"), {"login": user.email, "password": PASSWORD})
    assert asked["Location"] == reverse("mfa_authenticate")
    return client, user, lambda: code_for(secret)


HalfWay = tuple[Client, User, Callable[[], str]]


def test_the_code_completes_the_sign_in(half_way: HalfWay) -> None:
    client, _, code = half_way
    client.post(reverse("mfa_authenticate"), {"code": code()})
    assert client.get(reverse("portal")).status_code == 200


@pytest.mark.parametrize("changed", ["password", "email", "role", "is_active"])
def test_a_changed_user_signs_in_from_the_start(half_way: HalfWay, changed: str) -> None:
    client, user, code = half_way
    if changed == "password":
        user.set_password("another long enough sentence")
        user.save()
    else:
        value: Any = {"email": "new@people.example", "role": "finance", "is_active": False}[changed]
        User.objects.filter(pk=user.pk).update(**{changed: value})
    answer = client.post(reverse("mfa_authenticate"), {"code": code()}, follow=True)
    assert answer.redirect_chain[-1][0] == reverse("account_login")
    assert [message.level for message in answer.context["messages"]] == [messages.ERROR]
    assert client.get(reverse("portal")).status_code == 302
    again = client.post(reverse("mfa_authenticate"), {"code": code()})
    assert again["Location"] == reverse("account_login")
