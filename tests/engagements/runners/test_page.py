"""The page of runners: the token once, the state of each, and 404 for everybody else."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from engagements.people import api_tokens
from engagements.runners.models import Runner
from tests.engagements.api_program import Program
from tests.engagements.runners.conftest import Machine, requested
from tests.engagements.sessions import sign_in
from tests.engagements.world import World
from tests.errors import declined

pytestmark = pytest.mark.django_db
TOKEN = re.compile(r"twofold_[\w-]+")


def test_a_signatory_registers_a_runner_and_sees_its_token_once(
    world: World, client: Client
) -> None:
    sign_in(client, world.signatory)
    url = reverse("runners")
    page = client.post(reverse("runner-register"), {"name": "box", "customer": world.customer.pk})
    shown = set(TOKEN.findall(page.content.decode()))
    assert len(shown) == 1
    again = client.get(url).content.decode()
    assert "box" in again
    assert not TOKEN.search(again)
    (value,) = shown
    token = api_tokens.find(value)
    assert token is not None
    assert token.scopes == ["runner"]
    # Good for nothing else, and no choice on the page of tokens.
    caller = Client(headers={"Authorization": f"Bearer {value}"})
    assert caller.get("/api/v1/engagements/").status_code == 403
    assert 'value="runner"' not in client.get(reverse("tokens")).content.decode()
    same = {"name": "box", "customer": world.customer.pk}
    assert client.post(reverse("runner-register"), same).status_code == 422
    renewed = client.post(reverse("runner-token", args=[Runner.objects.get().pk]))
    assert TOKEN.search(renewed.content.decode())
    assert api_tokens.find(value) is None


def test_everybody_sees_their_own_runners_and_staff_all(
    world: World, client: Client, theirs: Machine, strangers: Machine
) -> None:
    requested(world, engagement=world.active().engagement)
    theirs.claim()
    url = reverse("runners")
    for person, names in {
        world.viewer: {"box"},
        world.stranger: {"other"},
        world.finance: {"box", "other"},
    }.items():
        client.force_login(person)
        page = client.get(url)
        assert {each.runner.name for each in page.context["runners"]} == names
    states = {each.runner.name: (each.state, each.waiting) for each in page.context["runners"]}
    assert states == {"box": ("measuring", 0), "other": ("idle", 0)}
    client.force_login(world.nobody)
    assert client.get(url).status_code == 404


def test_only_its_managers_act_on_a_runner(world: World, client: Client, theirs: Machine) -> None:
    for person in (world.stranger, world.viewer, world.consultant):
        sign_in(client, person)
        for name in ("runner-retire", "runner-revoke", "runner-token"):
            url = reverse(name, args=[theirs.runner.pk])
            assert client.post(url).status_code == 404, (person, name)
    sign_in(client, world.consultant)
    assert client.post(reverse("runner-register"), {"name": "mine"}).status_code == 422
    assert Runner.objects.get().is_active
    sign_in(client, world.signatory)
    assert client.post(reverse("runner-revoke", args=[theirs.runner.pk])).status_code == 302
    assert theirs.claim().status_code == 401


def test_a_customer_without_a_runner_measures_nothing(world: World) -> None:
    elsewhere = world.audited(engagement=world.scoping(customer=world.other_customer))
    with declined("run.no_runner"):
        requested(world, engagement=elsewhere)
    body = {"engagement": elsewhere.reference, "candidate": world.solution.pk, "purpose": "trial"}
    answer = Program(world.consultant).post(
        "runs/", {**body, "benchmark": world.benchmark.pk, "place": "customer"}
    )
    assert answer.json()["code"] == "run.no_runner"
