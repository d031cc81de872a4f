"""Sign-in, error pages and the frame around every page."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from django.conf import LazySettings
from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from tests.engagements.world import World

pytestmark = pytest.mark.django_db


def test_sign_in_pages_open_without_an_account(client: Client) -> None:
    for name in ("login", "reset_password", "reset_password_done", "signup"):
        page = client.get(reverse(f"account_{name}")).content.decode()
        assert 'class="entrance"' in page, name


def test_signing_in_leads_to_the_home_page_of_the_role(client: Client, world: World) -> None:
    world.consultant.set_password("a-long-pass-phrase")
    world.consultant.save()
    data = {"login": world.consultant.email, "password": "a-long-pass-phrase"}
    response = client.post(reverse("account_login"), data, follow=True)
    assert response.redirect_chain[-1][0] == reverse("board")


def test_a_wrong_password_is_an_error_of_the_form(client: Client, world: World) -> None:
    data = {"login": world.consultant.email, "password": "wrong"}
    page = client.post(reverse("account_login"), data).content.decode()
    assert 'role="alert"' in page
    assert world.consultant.email in page


def test_account_pages_open(client: Client, world: World) -> None:
    world.viewer.set_password("a-long-pass-phrase")
    world.viewer.save()
    client.post(
        reverse("account_login"),
        {"login": world.viewer.email, "password": "a-long-pass-phrase"},
    )
    for name in ("account_change_password", "mfa_index", "mfa_activate_totp", "account_logout"):
        assert client.get(reverse(name), follow=True).status_code == 200, name


def test_every_role_has_its_own_navigation(client: Client, world: World) -> None:
    offered = {
        world.consultant: {"board"},
        world.finance: {"board", "finance"},
        world.admin: {"board", "finance"},
        world.signatory: {"portal"},
    }
    for person, names in offered.items():
        client.force_login(person)
        page = client.get("/", follow=True).content.decode()
        nav = page.partition('<nav class="nav"')[2].partition("</nav>")[0]
        for name in ("board", "finance", "portal"):
            assert (f'href="{reverse(name)}"' in nav) == (name in names), (person, name)


def test_error_pages_have_the_site_s_frame(client: Client, world: World) -> None:
    client.force_login(world.consultant)
    page = client.get("/nowhere/").content.decode()
    assert 'oops__code">404<' in page
    assert 'class="topbar' in page
    client.force_login(world.finance)
    refused = client.post(reverse("engagement-new"), {})
    assert 'oops__code">403<' in refused.content.decode()


def test_the_500_page_needs_no_database(
    django_assert_num_queries: Callable[[int], AbstractContextManager[object]],
) -> None:
    with django_assert_num_queries(0):
        page = render_to_string("500.html")
    assert 'oops__code">500<' in page
    styles = re.findall(r'href="/static/([^"]+)"', page)
    assert "css/tokens.css" in styles
    assert all(finders.find(name) for name in styles)


def test_a_cross_site_post_is_403(world: World) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(world.consultant)
    response = strict.post(reverse("engagement-new"), {})
    assert response.status_code == 403
    assert 'oops__code">403<' in response.content.decode()


def test_pages_have_no_inline_scripts_or_styles(client: Client, world: World) -> None:
    contract = world.active()
    client.force_login(world.consultant)
    ref = contract.engagement.reference
    names = ("engagement", "engagement-audit", "engagement-contract", "run-request")
    for url in [reverse("board"), *(reverse(name, args=[ref]) for name in names)]:
        page = client.get(url).content.decode()
        assert "<style" not in page, url
        assert " onclick=" not in page, url
        assert all("src=" in tag for tag in page.split("<script")[1:]), url


def test_only_a_demonstration_has_a_banner(
    client: Client, settings: LazySettings, world: World
) -> None:
    for is_demo in (False, True):
        settings.TWOFOLD_DEMO = is_demo
        page = client.get(reverse("account_login")).content.decode()
        assert ('class="banner"' in page) is is_demo
