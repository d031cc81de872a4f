"""Admins manage users and customers on the admin site and read everything else."""

from __future__ import annotations

import re

import pytest
from allauth.mfa.models import Authenticator
from django.apps import apps
from django.contrib import admin
from django.core.mail import EmailMessage
from django.test import Client
from django.urls import reverse

from engagements import access
from engagements.administration.permissions import ReadOnly
from engagements.customers import services as customers
from engagements.notifications import password_mails
from engagements.people.models import Customer, Membership, Role, User
from tests.engagements.world import World


@pytest.fixture
def ada(world: World, client: Client) -> Client:
    """A session of an admin who is not a superuser."""
    world.admin.is_superuser = False
    world.admin.save()
    client.force_login(world.admin)
    return client


def test_an_admin_adds_a_person_with_a_role(ada: Client) -> None:
    answer = ada.post(
        "/admin/engagements/user/add/",
        {
            "email": "new@example.com",
            "name": "Nell",
            "role": "finance",
            **empty("memberships"),
        },
    )
    assert answer.status_code == 302
    user = User.objects.get(email="new@example.com")
    # Two people of finance give the role; the user alone chooses a password.
    assert (user.role, user.is_superuser, user.has_usable_password()) == ("", False, False)
    assert ada.post(f"/admin/engagements/user/{user.pk}/password/").status_code == 403
    assert user.finance_grants.get().confirmed_by is None


def test_admins_cannot_change_their_own_permissions(ada: Client, world: World) -> None:
    answer = ada.post(
        f"/admin/engagements/user/{world.admin.pk}/change/",
        {
            "email": world.admin.email,
            "name": "Ada L.",
            "role": "finance",
            "is_active": "on",
            "is_staff": "on",
            **empty("memberships"),
        },
    )
    assert answer.status_code == 302
    world.admin.refresh_from_db()
    assert (world.admin.name, world.admin.role) == ("Ada L.", Role.ADMIN)


def test_plurals_are_english(ada: Client) -> None:
    page = ada.get("/admin/").content.decode()
    assert "Time-boxes</a>" in page
    plurals = [str(model._meta.verbose_name_plural) for model in apps.get_models()]
    assert "time entries" in plurals
    assert not [name for name in plurals if re.search(r"(x|s|z|ch|sh|[^aeiou]y)s$", name)]


def test_a_signatory_whose_address_an_admin_changed_is_not_independent(
    ada: Client, world: World
) -> None:
    form = {
        "email": "admins-own@example.com",
        "name": "Sigrid",
        "is_active": "on",
        **empty("memberships"),
    }
    url = f"/admin/engagements/user/{world.signatory.pk}/change/"
    assert ada.post(url, form).status_code == 302
    assert not Membership.objects.get(user=world.signatory).is_independent


def test_a_new_customer_is_set_up_and_its_signatory_invited(
    ada: Client, world: World, mailoutbox: list[EmailMessage]
) -> None:
    person = {"email": "petra@longprompt.example", "name": "Petra Prompt"}
    new = {**person, "role": "", **empty("memberships")}
    assert ada.post("/admin/engagements/user/add/", new).status_code == 302
    petra = User.objects.get(email=person["email"])
    company = {
        "name": "Longprompt GmbH",
        "address": "Weg 1",
        "country": "DE",
        "currency": "EUR",
        "locale": "en_GB",
        **empty("contacts", "memberships"),
        "contacts-TOTAL_FORMS": 1,
        "contacts-0-name": "Petra Prompt",
        "contacts-0-email": person["email"],
        "contacts-0-user": petra.pk,
    }
    of_the_codes = (
        {"country": "XX"},
        # By its first letters it would be Georgia.
        {"country": "Germany"},
        {"currency": "EUX"},
        {"vat_id": "123456"},
        {"vat_id": "DE136695977"},
    )
    for wrong in (*of_the_codes, {"name": "\u200b"}, {"address": "\u200b"}):
        assert ada.post("/admin/engagements/customer/add/", company | wrong).status_code == 200
    pasted = {"name": "Longprompt\x0bGmbH\u200b", "vat_id": "de 136 695 976"}
    assert ada.post("/admin/engagements/customer/add/", company | pasted).status_code == 302
    customer = Customer.objects.get(name="Longprompt GmbH")
    assert (customer.country, customer.vat_id) == ("DE", "DE136695976")
    assert customer.contacts.get().user == petra
    customers.invite(customer=customer, rights="signatory", by=world.admin, **person)
    assert access.may_sign(petra, customer)

    petras = Client()
    petras.post("/accounts/password/reset/", {"email": person["email"]})
    for pk in password_mails.waiting():
        password_mails.send(password_mail_id=pk)
    (mail,) = mailoutbox
    link = re.search(r"https?://[^/]+(/accounts/password/reset/key/\S+)", str(mail.body))
    assert link
    form = petras.get(link[1], follow=True).redirect_chain[-1][0]
    password = "correct horse battery"
    petras.post(form, {"password1": password, "password2": password})
    petras.post("/accounts/login/", {"login": person["email"], "password": password})
    assert petras.get("/portal/").status_code == 200


def empty(*prefixes: str) -> dict[str, int]:
    """Form data of inline tables without rows."""
    return {f"{prefix}-{count}_FORMS": 0 for prefix in prefixes for count in ("TOTAL", "INITIAL")}


def test_every_list_opens(ada: Client, world: World) -> None:
    world.settlement()
    for model in admin.site._registry:
        ours = model._meta.app_label in ("engagements", "mfa")
        answer = ada.get(f"/admin/{model._meta.app_label}/{model._meta.model_name}/")
        assert answer.status_code == (200 if ours else 403), model


def test_amounts_and_times_are_formatted_as_on_the_site(ada: Client, world: World) -> None:
    settlement = world.settlement()
    rows = [settlement, *settlement.contract_version.milestones.order_by("position")[:1]]
    for row in rows:
        page = f"/admin/engagements/{row._meta.model_name}/"
        for shown in (ada.get(page), ada.get(f"{page}{row.pk}/change/")):
            text = shown.content.decode().replace("\xa0", " ")
            assert re.search(r"\bEUR \d+,\d{3}\.\d\d(?!\d)", text), (
                row,
                shown.request["PATH_INFO"],
            )
    proposed = ada.get(f"/admin/engagements/settlement/{settlement.pk}/change/").content.decode()
    assert f"{settlement.proposed_at:%-d %b %Y, %H:%M}" in proposed


def test_money_and_history_are_read_only(ada: Client, world: World) -> None:
    settlement = world.settlement()
    contract = settlement.contract_version
    rows = [settlement, contract, contract.engagement, contract.engagement.events.first()]
    for row in rows:
        assert row is not None
        page = f"/admin/engagements/{row._meta.model_name}/{row.pk}/"
        assert ada.get(f"{page}change/").status_code == 200
        assert ada.post(f"{page}change/", {"state": "paid"}).status_code == 403
        assert ada.post(f"{page}delete/", {"post": "yes"}).status_code == 403
        assert ada.get(f"/admin/engagements/{row._meta.model_name}/add/").status_code == 403


def test_only_users_and_customers_are_writable() -> None:
    writable = {
        model.__name__
        for model, site in admin.site._registry.items()
        if model._meta.app_label == "engagements" and not isinstance(site, ReadOnly)
    }
    assert writable == {"User", "Customer", "Contact"}


def test_history_is_read_only_for_superusers(world: World, client: Client) -> None:
    client.force_login(world.admin)
    settlement = world.settlement()
    page = f"/admin/engagements/settlement/{settlement.pk}/change/"
    assert client.post(page, {"state": "paid"}).status_code == 403


def test_customers_and_users_cannot_be_deleted(ada: Client, world: World) -> None:
    for row in (world.customer, world.viewer):
        page = f"/admin/engagements/{row._meta.model_name}/{row.pk}/delete/"
        assert ada.post(page, {"post": "yes"}).status_code == 403
    assert Customer.objects.filter(pk=world.customer.pk).exists()


@pytest.mark.parametrize("who", ["consultant", "finance", "signatory"])
def test_only_admins_open_the_admin_site(world: World, client: Client, who: str) -> None:
    client.force_login(getattr(world, who))
    answer = client.get("/admin/engagements/user/")
    assert answer.status_code in (302, 403, 404)
    if answer.status_code == 302:
        assert "/login/" in answer["Location"]


def test_a_lost_second_factor_is_removed_and_its_secret_never_shown(
    ada: Client, world: World
) -> None:
    secret = {"secret": "BVCFZGJTLXWBFJPJ"}
    kept = Authenticator.objects.create(user=world.finance, type="totp", data=secret)
    page = f"/admin/mfa/authenticator/{kept.pk}/"
    shown = ada.get(f"{page}change/")
    assert shown.status_code == 200
    assert secret["secret"] not in shown.content.decode()
    guessed = ada.get("/admin/mfa/authenticator/?data__secret__startswith=BVC")
    assert guessed.status_code == 400
    assert ada.get("/admin/mfa/authenticator/?q=finn").status_code == 200
    assert ada.post(f"{page}change/", {"type": "totp"}).status_code == 403
    assert ada.get("/admin/mfa/authenticator/add/").status_code == 403
    assert ada.post(f"{page}delete/", {"post": "yes"}).status_code == 302
    assert not Authenticator.objects.exists()
    assert ada.get("/admin/account/emailaddress/").status_code == 404


def test_the_admin_site_uses_the_site_s_sign_in(client: Client, db: None) -> None:
    answer = client.get("/admin/login/", follow=True)
    assert answer.redirect_chain[-1][0].startswith("/accounts/login/")


def test_the_admin_site_uses_the_site_s_password_page(ada: Client) -> None:
    """The one that counts the attempts."""
    page = "/admin/password_change/"
    assert ada.get(page)["Location"] == reverse("account_change_password")
    tried = ada.post(page, {"old_password": "a guess"})
    assert (tried.status_code, tried["Location"]) == (302, reverse("account_change_password"))
