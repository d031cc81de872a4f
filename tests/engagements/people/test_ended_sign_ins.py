"""Sessions and tokens end when the address, role or membership of their user changes."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from django.test import Client
from django.urls import reverse

from engagements.people import api_tokens
from engagements.people.models import Membership, Role, User
from tests.engagements.sessions import sign_in
from tests.engagements.world import World

pytestmark = pytest.mark.django_db


def signed_in(person: User) -> Client:
    client = Client()
    client.force_login(User.objects.get(pk=person.pk))
    assert is_in(client)
    return client


def is_in(client: Client) -> bool:
    return client.get(reverse("portal")).status_code == 200


def as_admin(world: World) -> Callable[..., None]:
    """Return a function that changes a user on the admin site."""
    admin = signed_in(world.admin)

    def change(person: User, **changes: str) -> None:
        now = User.objects.get(pk=person.pk)
        given = {"email": now.email, "name": now.name, "role": now.role, "is_active": "on"}
        given |= {"is_staff": "on"} if now.is_staff else {}
        given |= {"memberships-TOTAL_FORMS": "0", "memberships-INITIAL_FORMS": "0", **changes}
        given = {name: value for name, value in given.items() if value != "off"}
        saved = admin.post(reverse("admin:engagements_user_change", args=[person.pk]), given)
        assert saved.status_code == 302, saved.content.decode()

    return change


@pytest.mark.parametrize(
    "change", [{"email": "successor@people.example"}, {"role": "admin"}, {"is_active": "off"}]
)
def test_a_change_by_an_admin_ends_sessions_and_tokens(
    world: World, change: dict[str, str]
) -> None:
    person = world.consultant
    client, owner = signed_in(person), User.objects.get(pk=person.pk)
    _, token = api_tokens.create(owner=owner, name="Traces", scopes=["read"], by=owner)
    assert api_tokens.find(token) is not None
    as_admin(world)(person, **change)
    User.objects.filter(pk=person.pk).update(is_active=True)
    assert not is_in(client)
    assert api_tokens.find(token) is None


def test_a_new_name_ends_no_session(world: World) -> None:
    client = signed_in(world.signatory)
    as_admin(world)(world.signatory, name="Sigrid Zweit")
    assert is_in(client)


@pytest.mark.parametrize("taken", ["moved", "rights", "removed"])
def test_a_changed_membership_ends_its_user_s_sessions_only(world: World, taken: str) -> None:
    theirs, others = signed_in(world.signatory), signed_in(world.viewer)
    row = Membership.objects.get(user=world.signatory)
    if taken == "moved":
        row.customer = world.other_customer
    if taken == "rights":
        row.rights = Membership.Rights.VIEWER
    if taken == "removed":
        row.delete()
    else:
        row.save()
    assert not is_in(theirs)
    assert is_in(others)


def test_an_additional_membership_ends_no_session(world: World) -> None:
    client = signed_in(world.signatory)
    Membership.objects.create(user=world.signatory, customer=world.other_customer)
    Membership.objects.get(user=world.signatory, customer=world.customer).save()
    assert is_in(client)


def test_saving_a_stale_user_restores_no_session(world: World) -> None:
    client, older = signed_in(world.viewer), User.objects.get(pk=world.viewer.pk)
    Membership.objects.get(user=world.viewer).delete()
    older.save()
    assert not is_in(client)


def test_an_admin_keeps_this_session_after_an_own_change_of_address(world: World) -> None:
    elsewhere, here = signed_in(world.admin), signed_in(world.admin)
    given = {"email": "ada@elsewhere.example", "name": "Ada"}
    given |= {"memberships-TOTAL_FORMS": "0", "memberships-INITIAL_FORMS": "0"}
    page = reverse("admin:engagements_user_change", args=[world.admin.pk])
    assert here.post(page, given).status_code == 302
    world.admin.refresh_from_db()
    assert (world.admin.email, world.admin.role) == (given["email"], Role.ADMIN)
    assert is_in(here)
    assert not is_in(elsewhere)


@pytest.mark.django_db(transaction=True)
def test_activating_a_second_factor_ends_other_sessions() -> None:
    world = World()
    elsewhere, here = signed_in(world.viewer), signed_in(world.viewer)
    sign_in(here, User.objects.get(pk=world.viewer.pk))
    activate = reverse("mfa_activate_totp")
    secret = re.search(r'id="authenticator_secret">(\w+)<', here.get(activate).content.decode())
    assert secret is not None
    counter = next(iter(totp.yield_hotp_counters_from_time()))
    code = totp.format_hotp_value(totp.hotp_value(secret[1], counter))
    assert here.post(activate, {"code": code}).status_code == 302
    assert Authenticator.objects.filter(user=world.viewer, type="totp").exists()
    assert is_in(here)
    assert not is_in(elsewhere)


@pytest.mark.parametrize("way", ["page", "list"])
def test_removing_a_second_factor_ends_sessions(world: World, way: str) -> None:
    phone, admin = signed_in(world.finance), signed_in(world.admin)
    kept = Authenticator.objects.create(user=world.finance, type="totp", data={"secret": "B"})
    rows = reverse("admin:mfa_authenticator_changelist")
    if way == "page":
        admin.post(f"{rows}{kept.pk}/delete/", {"post": "yes"})
    else:
        chosen = {"action": "delete_selected", "_selected_action": kept.pk, "post": "yes"}
        admin.post(rows, chosen)
    assert not Authenticator.objects.exists()
    assert not is_in(phone)
    assert is_in(admin)
