"""Invisible objects are 404; a wrong role is 403."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.test import RequestFactory

from engagements import access
from engagements.common import pages
from engagements.contracts import offers
from engagements.documents.models import Document
from engagements.page_access import consultant_page, finance_page, portal_page
from engagements.people.models import Membership, User
from tests.engagements.world import World

HOUSE = ("consultant", "finance", "controller", "admin")
OWN = ("signatory", "viewer")
STRANGERS = ("stranger", "nobody")


def missing(fetch: Callable[[], object]) -> bool:
    try:
        fetch()
    except Http404:
        return True
    return False


def document(engagement: Any, *, for_customer: bool) -> Document:
    return Document.objects.create(
        engagement=engagement,
        kind="contract",
        subject=f"contract:{for_customer}",
        title="Contract",
        filename="contract.pdf",
        content=b"%PDF",
        size_bytes=4,
        digest="sha256:" + "0" * 64,
        for_customer=for_customer,
    )


def test_engagements_are_visible_to_staff_and_their_customer(world: World) -> None:
    reference = world.scoping().reference
    for who in (*HOUSE, *OWN):
        assert access.engagement_for(getattr(world, who), reference).reference == reference
    for who in STRANGERS:
        assert missing(partial(access.engagement_for, getattr(world, who), reference))
        assert not access.engagements_for(getattr(world, who)).exists()
    assert missing(lambda: access.engagement_for(AnonymousUser(), reference))


def test_people_of_two_customers_see_each_engagement_once(world: World) -> None:
    world.scoping()
    other = world.scoping(customer=world.other_customer)
    Membership.objects.create(customer=world.other_customer, user=world.signatory)
    assert access.engagements_for(world.signatory).count() == 2
    assert list(access.engagements_for(world.stranger)) == [other]


@pytest.mark.parametrize("who", [*HOUSE, *OWN])
def test_deactivated_users_see_nothing(world: World, who: str) -> None:
    world.scoping()
    user: User = getattr(world, who)
    user.is_active = False
    user.save()
    assert not access.engagements_for(user).exists()
    assert not access.may_sign(user, world.customer)
    assert not access.is_consultant(user)
    assert not access.is_finance(user)


def test_a_superuser_without_a_role_sees_nothing(world: World) -> None:
    reference = world.scoping().reference
    world.nobody.is_superuser = True
    world.nobody.save()
    assert missing(lambda: access.engagement_for(world.nobody, reference))


def test_customers_see_no_draft(world: World) -> None:
    contract = world.drafted()
    reference = contract.engagement.reference
    assert access.contract_for(world.consultant, reference) == contract
    assert missing(lambda: access.contract_for(world.signatory, reference))
    contract = offers.offer(contract=contract, by=world.consultant)
    assert access.contract_for(world.signatory, reference) == contract
    offers.withdraw(contract=contract, reason="Wrong.", by=world.consultant)
    second = world.drafted(contract.engagement)
    assert access.contract_for(world.signatory, reference) == contract
    assert access.contract_for(world.consultant, reference) == second
    assert access.contract_for(world.consultant, reference, 1) == contract
    assert missing(lambda: access.contract_for(world.signatory, reference, 2))
    assert missing(lambda: access.contract_for(world.stranger, reference))


def test_customers_see_acceptance_runs_and_no_trials(world: World) -> None:
    contract = world.active()
    reference = contract.engagement.reference
    trial, decisive = world.request(contract, "trial"), world.request(contract)
    assert access.run_for(world.consultant, reference, trial.pk) == trial
    assert access.run_for(world.viewer, reference, decisive.pk) == decisive
    assert missing(lambda: access.run_for(world.viewer, reference, trial.pk))
    assert missing(lambda: access.run_for(world.stranger, reference, decisive.pk))


def test_a_run_is_found_under_its_own_engagement_only(world: World) -> None:
    run = world.request(world.active())
    other = world.scoping().reference
    assert missing(lambda: access.run_for(world.consultant, other, run.pk))


def test_internal_documents_are_hidden_from_customers(world: World) -> None:
    engagement = world.scoping()
    internal = document(engagement, for_customer=False)
    issued = document(engagement, for_customer=True)
    for who in HOUSE:
        assert access.document_for(getattr(world, who), internal.pk) == internal
    for who in OWN:
        assert access.document_for(getattr(world, who), issued.pk) == issued
        assert missing(partial(access.document_for, getattr(world, who), internal.pk))
    for who in STRANGERS:
        assert missing(partial(access.document_for, getattr(world, who), issued.pk))


def test_settlements_are_visible_to_staff(world: World) -> None:
    settlement = world.settlement()
    for who in HOUSE:
        assert access.settlement_for(getattr(world, who), settlement.pk) == settlement
    for who in (*OWN, *STRANGERS):
        assert missing(partial(access.settlement_for, getattr(world, who), settlement.pk))


def test_signatories_sign_for_their_own_customer(world: World) -> None:
    signers = [
        who
        for who in (*HOUSE, *OWN, *STRANGERS)
        if access.may_sign(getattr(world, who), world.customer)
    ]
    assert signers == ["signatory"]
    assert not access.may_sign(AnonymousUser(), world.customer)


def test_nobody_signs_for_both_parties(world: World) -> None:
    rights = Membership.Rights.SIGNATORY
    for who in (world.consultant, world.admin):
        Membership.objects.create(customer=world.customer, user=who, rights=rights)
        assert not access.may_sign(who, world.customer)


@pytest.mark.parametrize(
    ("predicate", "who"),
    [
        (access.is_staff_member, {"consultant", "finance", "controller", "admin"}),
        (access.is_consultant, {"consultant", "admin"}),
        (access.is_finance, {"finance", "controller"}),
        (access.sees_money, {"finance", "controller", "admin"}),
        (access.is_admin, {"admin"}),
    ],
)
def test_roles_grant_permissions(
    world: World, predicate: Callable[[Any], bool], who: set[str]
) -> None:
    everybody = (*HOUSE, *OWN, *STRANGERS)
    assert {name for name in everybody if predicate(getattr(world, name))} == who
    assert not predicate(AnonymousUser())
    assert not predicate(None)


@pytest.mark.parametrize(
    ("guard", "method", "allowed", "denied"),
    [
        (consultant_page, "GET", HOUSE, ()),
        (consultant_page, "POST", ("consultant", "admin"), ("finance", "controller")),
        (finance_page, "GET", ("finance", "controller", "admin"), ("consultant",)),
        (finance_page, "POST", ("finance", "controller"), ("consultant", "admin")),
        (portal_page, "GET", (*HOUSE, *OWN, *STRANGERS), ()),
        (portal_page, "POST", (*OWN, *STRANGERS), HOUSE),
        (portal_page, "DELETE", (*OWN, *STRANGERS), HOUSE),
    ],
)
def test_pages_admit_their_roles(
    world: World,
    guard: Callable[[pages.View], pages.View],
    method: str,
    allowed: tuple[str, ...],
    denied: tuple[str, ...],
) -> None:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse("in")

    def ask(user: Any) -> Any:
        request = RequestFactory().generic(method, "/page/?a=1")
        request.user = user
        return guard(view)(request)

    for who in (*HOUSE, *OWN, *STRANGERS):
        user = getattr(world, who)
        if who in allowed:
            assert ask(user).content == b"in"
        elif who in denied:
            with pytest.raises(PermissionDenied):
                ask(user)
        else:
            with pytest.raises(Http404):
                ask(user)
    answer = ask(AnonymousUser())
    assert answer.status_code == 302
    assert "next=/page/%3Fa%3D1" in answer["Location"]
