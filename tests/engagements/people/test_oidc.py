"""Staff sign in by an OIDC provider; its groups give roles, but never the finance role."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.test import Client
from django.urls import reverse

from engagements.people.models import User
from tests.engagements.world import World

pytestmark = [
    pytest.mark.django_db,
    # Of the provider itself.
    pytest.mark.filterwarnings("ignore::DeprecationWarning:authlib"),
    pytest.mark.filterwarnings("ignore:authlib.jose module is deprecated"),
]
ROLES = [("ledger", "finance"), ("it", "admin"), ("kernels", "consultant")]


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    from oidc_provider_mock import run_server_in_thread

    with run_server_in_thread() as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture(autouse=True)
def configured(settings: Any, provider: str) -> None:
    app = {
        "provider_id": "house",
        "name": "Provider",
        "client_id": "twofold",
        "secret": "secret",
        "settings": {"server_url": provider},
    }
    settings.SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {"APPS": [app], "OAUTH_PKCE_ENABLED": True}
    }
    settings.OIDC_ROLES = ROLES


def signed_in(client: Client, provider: str, email: str, **claims: Any) -> User | None:
    """Sign in at the provider as this address and return whom the site takes the person for."""
    claims = {"email": email, "email_verified": True, "name": "Petra Person"} | claims
    told: Any = claims
    requests.put(f"{provider}/users/{email}", json=told, timeout=10).raise_for_status()
    start = client.get("/accounts/oidc/house/login/")
    answer = requests.post(
        start["Location"], data={"sub": email}, allow_redirects=False, timeout=10
    )
    back = urlsplit(answer.headers["Location"])
    client.get(f"{back.path}?{back.query}")
    key = client.session.get("_auth_user_id")
    return User.objects.get(pk=key) if key else None


def test_a_group_creates_an_account_with_its_role(client: Client, provider: str) -> None:
    found = signed_in(client, provider, "new@house.example", groups=["all", "kernels"])
    assert found is not None
    assert (found.email, found.role, found.has_usable_password()) == (
        "new@house.example",
        "consultant",
        False,
    )
    again = Client()
    assert signed_in(again, provider, "new@house.example", groups=["it"]) == found
    found.refresh_from_db()
    assert found.role == "admin"
    # The change of the role ended the first session.
    assert client.get(reverse("board")).status_code == 302
    assert signed_in(Client(), provider, "new@house.example", groups=["all"]) is None
    found.refresh_from_db()
    assert found.role == ""


def test_no_group_gives_the_finance_role(client: Client, provider: str, world: World) -> None:
    assert signed_in(client, provider, "cash@house.example", groups=["ledger"]) is None
    assert not User.objects.filter(email="cash@house.example").exists()
    found = signed_in(Client(), provider, world.consultant.email, groups=["ledger"])
    assert found is not None
    assert found.role == "consultant"


def test_finance_signs_in_with_a_second_factor_and_ends_with_its_group(
    client: Client, provider: str, world: World
) -> None:
    email = world.finance.email
    assert signed_in(client, provider, email, groups=["ledger"]) is None
    Authenticator.objects.create(user=world.finance, type="totp", data={"secret": "A"})
    # The provider alone is not enough: the second factor is asked for.
    assert signed_in(Client(), provider, email, groups=["ledger"]) is None
    assert SocialAccount.objects.get().user == world.finance
    world.finance.refresh_from_db()
    assert world.finance.role == "finance"
    signed_in(Client(), provider, email, groups=["kernels"])
    world.finance.refresh_from_db()
    assert world.finance.role == "consultant"


def test_customers_and_strangers_do_not_sign_in_by_the_provider(
    client: Client, provider: str, world: World
) -> None:
    tried: list[tuple[str, dict[str, Any]]] = [
        (world.signatory.email, {"groups": ["it"]}),
        ("nobody@elsewhere.example", {"groups": ["other"]}),
        ("nobody@elsewhere.example", {}),
        (world.consultant.email, {"groups": ["kernels"], "email_verified": False}),
    ]
    for email, claims in tried:
        assert signed_in(Client(), provider, email, **claims) is None, (email, claims)
    world.signatory.refresh_from_db()
    assert world.signatory.role == ""


def test_accounts_are_not_connected_by_hand(client: Client, world: World) -> None:
    client.force_login(world.consultant)
    for path in ("/accounts/3rdparty/", "/accounts/3rdparty/signup/"):
        assert client.get(path).status_code == 404


def test_the_login_page_offers_the_provider(client: Client) -> None:
    page = client.get(reverse("account_login")).content.decode()
    assert "/accounts/oidc/house/login/" in page
