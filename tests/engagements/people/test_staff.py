"""Admins keep the people of the consultancy on a page; nobody alone makes somebody of finance."""

from __future__ import annotations

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client
from django.urls import reverse

from engagements.administration import staff
from engagements.common.errors import ApplicationError
from engagements.event_log.models import FinanceEvent
from engagements.notifications.models import PasswordMail
from engagements.people.approval_models import FinanceGrant
from engagements.people.models import Role, User
from tests.engagements.sessions import sign_in
from tests.engagements.world import World


def test_an_admin_invites_a_consultant_on_a_page(world: World, client: Client) -> None:
    sign_in(client, world.admin)
    posted = {"name": "Cora", "email": "cora@twofold.example", "role": "consultant"}
    assert client.post(reverse("staff"), posted).status_code == 302
    cora = User.objects.get(email="cora@twofold.example")
    assert (cora.role, cora.is_staff) == (Role.CONSULTANT, False)
    assert PasswordMail.objects.filter(address=cora.email).exists()
    assert FinanceEvent.objects.get(verb="staff.invited").actor == world.admin


def test_a_person_of_finance_is_only_proposed(world: World) -> None:
    fay = staff.invite(email="fay@x.example", name="Fay", role="finance", by=world.admin)
    assert fay.role == Role.CONSULTANT
    assert FinanceGrant.objects.get(user=fay).granted_by is None
    staff.give_role(user=world.consultant, role="finance", by=world.admin)
    assert User.objects.get(pk=world.consultant.pk).role == Role.CONSULTANT


def test_a_removed_second_factor_suspends_finance(world: World) -> None:
    Authenticator.objects.create(user=world.finance, type="totp", data={})
    assert staff.remove_second_factor(user=world.finance, by=world.admin)
    assert User.objects.get(pk=world.finance.pk).role == Role.NONE
    assert not staff.remove_second_factor(user=world.finance, by=world.admin)


def test_an_admin_changes_an_address_and_never_takes_over_finance_by_it(
    world: World, client: Client
) -> None:
    theirs = Client()
    sign_in(theirs, world.finance)
    sign_in(client, world.admin)
    change = reverse("staff-change", args=[world.finance.pk])
    for refused in ("no address", world.consultant.email.upper(), world.signatory.email):
        client.post(change, {"email": refused})
        assert User.objects.get(pk=world.finance.pk).email == world.finance.email
    client.post(change, {"email": "Fay@New.example"})
    changed = User.objects.get(pk=world.finance.pk)
    assert (changed.email, changed.role) == ("fay@new.example", Role.NONE)
    assert theirs.get(reverse("finance")).status_code != 200
    event = FinanceEvent.objects.get(verb="staff.address_changed")
    assert event.changes["email"] == [world.finance.email, "fay@new.example"]
    with pytest.raises(ApplicationError) as error:
        staff.change_address(user=world.signatory, email="s@x.example", by=world.admin)
    assert error.value.code == "staff.not_of_the_house"


def test_a_role_ends_the_admin_site_with_it(world: World) -> None:
    other = staff.invite(email="a@x.example", name="Al", role="admin", by=world.admin)
    assert other.is_staff
    other = staff.give_role(user=other, role="consultant", by=world.admin)
    assert (other.role, other.is_staff, other.is_superuser) == (Role.CONSULTANT, False, False)
    staff.set_active(user=other, is_active=False, by=world.admin)
    assert not User.objects.get(pk=other.pk).is_active


@pytest.mark.parametrize("who", ["consultant", "finance", "signatory"])
def test_others_keep_no_accounts(world: World, client: Client, who: str) -> None:
    by = getattr(world, who)
    with pytest.raises(ApplicationError) as error:
        staff.invite(email="x@x.example", name="X", role="consultant", by=by)
    assert error.value.code == "access.admins_only"
    sign_in(client, by)
    assert client.get(reverse("staff")).status_code == (404 if who == "signatory" else 403)


def test_admins_do_not_change_themselves(world: World) -> None:
    for act in (
        lambda: staff.give_role(user=world.admin, role="consultant", by=world.admin),
        lambda: staff.set_active(user=world.admin, is_active=False, by=world.admin),
    ):
        with pytest.raises(ApplicationError) as error:
            act()
        assert error.value.code == "staff.own_account"
