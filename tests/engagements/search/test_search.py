"""Search finds what the user may see, and nothing else."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from engagements.search.queries import search
from tests.engagements.world import World


def test_each_person_finds_what_they_may_see(world: World) -> None:
    contract = world.active()
    invoice = world.invoice(contract.milestones.get(position=1))
    found = {
        who: {(hit.kind, hit.title) for text in ("shared", "longprompt", invoice.reference)
              for hit in search(getattr(world, who), text)}
        for who in ("consultant", "finance", "viewer", "stranger")
    }  # fmt: skip
    operator = ("Operator", "shared_prefix_attention")
    engagement = ("Engagement", contract.engagement.title)
    customer, bill = ("Customer", world.customer.name), ("Invoice", invoice.reference)
    assert found["consultant"] == {operator, engagement, customer}
    assert found["finance"] == {operator, engagement, customer, bill}
    assert found["viewer"] == {operator, engagement, bill}
    assert found["stranger"] == {operator}


def test_the_results_lead_to_pages_that_open(world: World, client: Client) -> None:
    world.active()
    for who in (world.finance, world.viewer):
        client.force_login(who)
        hits = client.get(reverse("search"), {"q": "shared"}).context["hits"]
        assert hits
        assert {client.get(hit.url).status_code for hit in hits} == {200}


def test_the_session_says_whether_it_lives(world: World, client: Client) -> None:
    assert client.get(reverse("session")).status_code == 401
    client.force_login(world.viewer)
    answer = client.get(reverse("session"))
    assert answer.json()["token"]
    assert answer.headers["Cache-Control"] == "no-store"
