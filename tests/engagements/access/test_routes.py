"""Every URL of an engagement is 404 for another customer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from engagements.engagement.models import Engagement
from tests.engagements.world import World

PART = re.compile(r"<(\w+):(\w+)>")
# What the addresses name beside the engagement and its rows, so that each leads to its view.
NAMED = {"check": "hot", "theme": "light", "question": "roadmap", "what": "operator"}


def routes(patterns: list[URLPattern | URLResolver], before: str = "/") -> Iterator[str]:
    """Every address of the site, with its parts as they are written in the patterns."""
    for each in patterns:
        address = f"{before}{each.pattern}"
        if isinstance(each, URLResolver):
            yield from routes(each.url_patterns, address)
        else:
            yield address


def addresses(engagement: Engagement) -> Iterator[str]:
    """Those of `engagement`, each of its rows by a key that there is."""
    run, contract = engagement.runs.get().pk, engagement.contracts.get().number
    values = NAMED | {"reference": engagement.reference, "number": contract, "pk": run}
    for route in routes(get_resolver().url_patterns):
        if "<slug:reference>" in route:
            yield PART.sub(lambda part: str(values.get(part[2], "workloads")), route)


def test_every_url_of_an_engagement_is_404_for_another_customer(
    client: Client, world: World
) -> None:
    engagement = world.missed().engagement
    every = list(addresses(engagement))
    assert len(every) > 60
    client.force_login(world.stranger)
    for address in every:
        answers = {client.get(address).status_code, client.post(address).status_code}
        # What is only looked at, or only acted on, says so of any address.
        assert answers <= {404, 405}, (address, answers)
    client.force_login(world.signatory)
    assert any(client.get(address).status_code == 200 for address in every)
