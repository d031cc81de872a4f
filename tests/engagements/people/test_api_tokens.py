"""Tokens: shown once, expiring, revocable; service accounts have them instead of a password."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import IntegrityError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements import access
from engagements.common.errors import ApplicationError
from engagements.people import api_tokens, service_accounts
from engagements.people.models import Membership, User
from engagements.people.token_models import ApiToken
from tests.engagements.sessions import sign_in
from tests.engagements.world import World, undone

pytestmark = pytest.mark.django_db


def created(owner: User, **changes: object) -> tuple[ApiToken, str]:
    given = {"owner": owner, "name": "CI", "scopes": ["read"], "by": owner} | changes
    return api_tokens.create(**given)  # type: ignore[arg-type]


def code_of(refused: pytest.ExceptionInfo[ApplicationError]) -> str:
    return refused.value.code


def test_only_the_digest_of_a_token_is_stored(world: World) -> None:
    token, value = created(world.viewer)
    kept = ApiToken.objects.filter(pk=token.pk).values().get()
    assert value not in str(kept)
    assert kept["hint"] == value[-4:]
    found = api_tokens.find(value)
    assert found == token
    for wrong in (value[:-1], value + "x", "", "twofold_", value.upper(), "\u00e9"):
        assert api_tokens.find(wrong) is None


def test_a_token_ends_by_time_by_revocation_and_with_its_owners_access(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, value = created(world.signatory, days=7)
    with monkeypatch.context() as later:
        then = timezone.now() + timedelta(days=7, minutes=1)
        later.setattr(timezone, "now", lambda: then)
        assert api_tokens.find(value) is None
    with undone():
        api_tokens.revoke(token=token, by=world.signatory)
        assert api_tokens.find(value) is None
    with undone():
        User.objects.filter(pk=world.signatory.pk).update(is_active=False)
        assert api_tokens.find(value) is None
    with undone():
        Membership.objects.get(user=world.signatory).delete()
        assert api_tokens.find(value) is None
    with undone():
        world.signatory.set_unusable_password()
        world.signatory.save()
        assert api_tokens.find(value) is None
    assert api_tokens.find(value) is not None


def test_the_database_neither_extends_a_token_nor_revives_it(world: World) -> None:
    token, _ = created(world.viewer)
    rows = ApiToken.objects.filter(pk=token.pk)
    for change in ({"expires_at": timezone.now() + timedelta(days=900)}, {"scopes": ["runs"]}):
        with undone(), pytest.raises(IntegrityError):
            rows.update(**change)
    api_tokens.revoke(token=token, by=world.viewer)
    with undone(), pytest.raises(IntegrityError):
        rows.update(revoked_at=None, revoked_by=None)
    with undone(), pytest.raises(IntegrityError):
        rows.delete()


def test_nobody_makes_tokens_of_another_person(world: World) -> None:
    for by in (world.admin, world.signatory, world.stranger):
        with pytest.raises(ApplicationError) as refused:
            created(world.viewer, by=by)
        assert code_of(refused) == "token.not_yours"
    with pytest.raises(ApplicationError) as refused:
        created(world.viewer, scopes=["everything"])
    assert code_of(refused) == "token.scopes"
    with pytest.raises(ApplicationError) as refused:
        created(world.viewer, days=366)
    assert code_of(refused) == "token.days"


def test_service_accounts_are_managed_by_admins_and_signatories(world: World) -> None:
    ours = service_accounts.create(name="Grafana", by=world.admin)
    theirs = service_accounts.create(name="ERP", by=world.signatory, customer=world.customer)
    assert access.is_consultant(ours)
    reference = world.scoping().reference
    assert access.engagement_for(theirs, reference)
    assert not access.may_sign(theirs, world.customer)
    for by, customer in [
        (world.consultant, None),
        (world.viewer, world.customer),
        (world.stranger, world.customer),
        (world.admin, world.customer),
        (theirs, world.customer),
    ]:
        with pytest.raises(ApplicationError) as refused:
            service_accounts.create(name="No", by=by, customer=customer)
        assert code_of(refused) == "service_account.not_permitted"
    _, value = created(theirs, by=world.signatory)
    assert api_tokens.find(value) is not None
    for by in (theirs, world.stranger, world.admin):
        with pytest.raises(ApplicationError):
            created(theirs, by=by)
    service_accounts.close(account=theirs, by=world.signatory)
    assert api_tokens.find(value) is None


@pytest.mark.parametrize(
    "change", [{"password": "pbkdf2$x"}, {"role": "admin"}, {"is_staff": True, "role": "admin"}]
)
def test_the_database_gives_service_accounts_no_password_and_no_money(
    world: World, change: dict[str, object]
) -> None:
    account = service_accounts.create(name="Grafana", by=world.admin)
    with undone(), pytest.raises(IntegrityError):
        User.objects.filter(pk=account.pk).update(**change)


def test_people_manage_their_tokens_on_a_page(client: Client, world: World) -> None:
    sign_in(client, world.signatory)
    account = {"account_name": "ERP", "customer": world.customer.pk}
    assert client.post(reverse("service-account-create"), account).status_code == 302
    erp = User.objects.get(name="ERP")
    given = {"name": "Sync", "owner": erp.pk, "scopes": ["read"], "days": 90}
    made = client.post(reverse("token-create"), given)
    assert made["Cache-Control"] == "no-store"
    shown = re.search(r'data-copy="([^"]{40,})"', made.content.decode())
    assert shown is not None
    token = api_tokens.find(shown[1])
    assert token is not None
    assert token.owner == erp
    page = client.get(reverse("tokens")).content.decode()
    assert shown[1] not in page
    stranger = Client()
    sign_in(stranger, world.stranger)
    assert stranger.post(reverse("token-revoke", args=[token.pk])).status_code == 404
    assert stranger.post(reverse("service-account-close", args=[erp.pk])).status_code == 404
    assert stranger.post(reverse("token-create"), given).status_code == 422
    assert client.post(reverse("token-revoke", args=[token.pk])).status_code == 302
    assert api_tokens.find(shown[1]) is None
    assert Client().get(reverse("tokens")).status_code == 302
