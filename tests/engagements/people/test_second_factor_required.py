"""Finance, admins and signatories work only with a second factor, where it is required."""

from __future__ import annotations

import pytest
from allauth.mfa.models import Authenticator
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from tests.engagements.world import World


@pytest.mark.parametrize(
    ("who", "page", "is_needed"),
    [
        ("finance", "finance", True),
        ("admin", "finance", True),
        ("signatory", "portal", True),
        ("viewer", "portal", False),
        ("consultant", "board", False),
    ],
)
def test_finance_admins_and_signatories_need_a_second_factor(
    client: Client, world: World, settings: LazySettings, who: str, page: str, is_needed: bool
) -> None:
    settings.SECOND_FACTOR_REQUIRED = True
    person, set_up = getattr(world, who), reverse("mfa_activate_totp")
    client.force_login(person)
    answer = client.get(reverse(page))
    assert (answer.status_code == 302 and answer["Location"] == set_up) is is_needed
    assert client.post(reverse("account_logout")).status_code == 302
    client.force_login(person)
    Authenticator.objects.create(user=person, type="totp", data={"secret": "A"})
    assert client.get(reverse(page)).status_code == 200


def test_it_is_off_outside_production_unless_it_is_set(
    client: Client, world: World, settings: LazySettings
) -> None:
    assert not settings.SECOND_FACTOR_REQUIRED
    client.force_login(world.finance)
    assert client.get(reverse("finance")).status_code == 200
