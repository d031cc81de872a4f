"""Customers and their people are kept on pages of the site, by whoever may."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.mail import EmailMessage
from django.test import Client
from django.urls import reverse

from engagements.common.errors import ApplicationError
from engagements.customers import services
from engagements.event_log.models import Event
from engagements.notifications import password_mails
from engagements.notifications.models import PasswordMail
from engagements.people.models import Contact, Customer, Membership, User
from tests.engagements.world import World

DETAILS = {
    "name": "Newcomer SE",
    "address": "Allee 1\n10115 Berlin",
    "country": "DE",
    "vat_id": "DE136695976",
    "currency": "EUR",
    "locale": "en_GB",
}
PERSON = {"name": "Nina New", "email": "Nina@newcomer.example", "position": ""}


def test_a_consultant_adds_a_customer_and_invites_its_first_signatory(
    world: World, client: Client, mailoutbox: list[EmailMessage]
) -> None:
    client.force_login(world.consultant)
    added = client.post(reverse("customer-new"), DETAILS)
    customer = Customer.objects.get(name="Newcomer SE")
    assert added.headers["Location"] == reverse("customer", args=[customer.pk])
    invite = reverse("customer-invite", args=[customer.pk])
    assert client.post(invite, PERSON | {"rights": "signatory"}).status_code == 302
    member = Membership.objects.get(customer=customer)
    assert (member.user.email, member.rights) == ("nina@newcomer.example", "signatory")
    assert Contact.objects.get(customer=customer).user == member.user
    assert password_mails.send(password_mail_id=PasswordMail.objects.get().pk)
    [mail] = mailoutbox
    assert str(customer) in mail.subject
    [link] = re.findall(r"http://localhost:8000(/accounts/password/\S+)", str(mail.body))
    assert Client().get(link, follow=True).status_code == 200


@pytest.mark.parametrize(
    ("change", "field"),
    [({"vat_id": "DE136695977"}, "vat_id"), ({"country": "XX"}, "country"), ({"name": ""}, "name")],
)
def test_wrong_details_are_refused_at_their_field(
    world: World, client: Client, change: dict[str, str], field: str
) -> None:
    client.force_login(world.consultant)
    answer = client.post(reverse("customer-new"), DETAILS | change)
    assert answer.status_code == 422
    assert field in answer.context["form"].errors
    assert not Customer.objects.filter(name="Newcomer SE").exists()


def test_a_consultant_adds_no_second_signatory(world: World) -> None:
    with pytest.raises(ApplicationError) as error:
        invite(world, by=world.consultant)
    assert error.value.code == "membership.signatory_by_customer"
    for by in (world.signatory, world.admin):
        assert invite(world, by=by, email=f"by{by.pk}@x.example").rights == "signatory"
    assert invite(world, by=world.consultant, rights="viewer").rights == "viewer"


def invite(world: World, **changes: Any) -> Membership:
    fields = {"email": "n@x.example", "name": "N", "rights": "signatory"}
    return services.invite(customer=world.customer, **(fields | changes))


@pytest.mark.parametrize("who", ["viewer", "stranger", "finance", "nobody"])
def test_others_invite_nobody(world: World, who: str) -> None:
    with pytest.raises(ApplicationError) as error:
        invite(world, by=getattr(world, who), rights="viewer")
    assert error.value.code == "membership.not_permitted"


def test_staff_are_not_invited_to_a_customer(world: World) -> None:
    with pytest.raises(ApplicationError) as error:
        invite(world, by=world.signatory, email=world.consultant.email)
    assert error.value.code == "membership.staff_member"


def test_an_invitation_twice_is_one_account(world: World) -> None:
    engagement = world.scoping()
    first = invite(world, by=world.signatory)
    assert invite(world, by=world.signatory, email="N@X.example", rights="viewer") == first
    assert User.objects.filter(email="n@x.example").count() == 1
    assert PasswordMail.objects.filter(address="n@x.example").count() == 1
    assert engagement.events.filter(verb="membership.invited").count() == 1


def test_the_last_signatory_stays(world: World) -> None:
    only = Membership.objects.get(user=world.signatory)
    for act in (
        lambda: services.remove(membership=only, by=world.signatory),
        lambda: services.change_rights(membership=only, rights="viewer", by=world.signatory),
    ):
        with pytest.raises(ApplicationError) as error:
            act()
        assert error.value.code == "membership.last_signatory"


def test_removed_access_ends_at_once(world: World, client: Client) -> None:
    engagement = world.scoping()
    client.force_login(world.viewer)
    assert client.get(reverse("portal-engagement", args=[engagement.reference])).status_code == 200
    member = Membership.objects.get(user=world.viewer)
    services.remove(membership=member, by=world.signatory)
    services.remove(membership=member, by=world.signatory)
    page = client.get(reverse("portal-engagement", args=[engagement.reference]))
    assert page.status_code in (302, 404)
    assert engagement.events.filter(verb="membership.removed").count() == 1


def test_a_signatory_keeps_the_billing_details_but_not_the_name(
    world: World, client: Client
) -> None:
    engagement = world.scoping()
    client.force_login(world.signatory)
    page = reverse("portal-company", args=[world.customer.pk])
    posted = DETAILS | {"name": "Mine Ltd", "currency": "USD", "invoice_email": "pay@l.example"}
    assert client.post(page, posted).status_code == 302
    row = Customer.objects.get(pk=world.customer.pk)
    assert (row.invoice_email, row.vat_id) == ("pay@l.example", "DE136695976")
    assert (row.name, row.currency) == (world.customer.name, world.customer.currency)
    event = Event.objects.get(engagement=engagement, verb="customer.edited")
    assert event.changes["invoice_email"] == ["", "pay@l.example"]


def test_a_viewer_changes_no_billing_details(world: World, client: Client) -> None:
    client.force_login(world.viewer)
    page = reverse("portal-company", args=[world.customer.pk])
    assert client.get(page).status_code == 200
    assert client.post(page, DETAILS).status_code == 422
    assert not Customer.objects.get(pk=world.customer.pk).vat_id


PAGES: list[Callable[[World], str]] = [
    lambda world: reverse("portal-company", args=[world.customer.pk]),
    lambda world: reverse("portal-company-invite", args=[world.customer.pk]),
    lambda world: reverse("portal-company-person", args=[world.customer.pk, 1]),
    lambda world: reverse("customers"),
    lambda world: reverse("customer", args=[world.customer.pk]),
    lambda world: reverse("customer-invite", args=[world.customer.pk]),
]


@pytest.mark.parametrize("page", PAGES)
def test_another_customer_finds_nothing(
    world: World, client: Client, page: Callable[[World], str]
) -> None:
    client.force_login(world.stranger)
    assert {client.get(page(world)).status_code, client.post(page(world)).status_code} <= {404, 405}
