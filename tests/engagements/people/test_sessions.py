"""Sessions are listed, and each can be ended."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from engagements.people.models import User
from tests.engagements.world import World

pytestmark = pytest.mark.django_db
PASSWORD = "a long enough sentence of words"


def signed_in(person: User) -> Client:
    client = Client()
    given = {"login": person.email, "password": PASSWORD}
    client.post(reverse("account_login"), given, headers={"User-Agent": "Firefox"})
    return client


def test_a_user_ends_one_of_their_sessions(world: World) -> None:
    world.viewer.set_password(PASSWORD)
    world.viewer.save()
    here, there = signed_in(world.viewer), signed_in(world.viewer)
    page = here.get(reverse("sessions")).content.decode()
    (end,) = re.findall(r'action="(/accounts/sessions/\d+/end/)"', page)
    assert "Firefox" in page
    stranger = Client()
    stranger.force_login(world.stranger)
    assert stranger.post(end).status_code == 404
    assert there.get(reverse("portal")).status_code == 200
    assert here.post(end).status_code == 302
    assert there.get(reverse("portal")).status_code == 302
    assert here.get(reverse("portal")).status_code == 200
