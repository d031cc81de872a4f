"""Two people at one contract: nobody saves, seals or withdraws what they have not read."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Engagement
from tests.engagements.contracts.test_contract_page import typed, url
from tests.engagements.world import World

pytestmark = pytest.mark.django_db


def read_on(client: Client, engagement: Engagement) -> str:
    """The digest of the draft that the page's forms carry."""
    page = client.get(url("engagement-contract", engagement)).content.decode()
    found = re.search(r'name="read" value="([^"]*)"', page)
    assert found is not None
    return found[1]


def test_two_people_do_not_write_over_each_other_unread(signed_in: Client, world: World) -> None:
    engagement = world.audited()
    blank, terms = read_on(signed_in, engagement), url("contract-terms", engagement)
    assert signed_in.post(terms, typed(world, read=blank)).status_code == 302
    late = signed_in.post(terms, typed(world, read=blank, weeks="9"))
    assert late.status_code == 422
    page = late.content.decode()
    assert "Somebody has changed this draft" in page
    assert 'value="9"' in page
    assert ContractVersion.objects.get().weeks == 6
    again = read_on(signed_in, engagement)
    assert f'name="read" value="{again}"' in page
    assert signed_in.post(terms, typed(world, read=again, weeks="9")).status_code == 302
    assert ContractVersion.objects.get().weeks == 9


def test_what_is_typed_on_an_old_page_stays_old(signed_in: Client, world: World) -> None:
    engagement = world.audited()
    blank, terms = read_on(signed_in, engagement), url("contract-terms", engagement)
    signed_in.post(terms, typed(world, read=blank))
    for act in ("add", "preview"):
        page = signed_in.post(terms, typed(world, read=blank, do=act)).content.decode()
        assert f'name="read" value="{blank}"' in page
    page = signed_in.post(terms, typed(world, read=blank, weeks="2")).content.decode()
    assert f'name="read" value="{blank}"' in page


@pytest.mark.parametrize("act", ["contract-offer", "contract-discard"])
def test_nobody_seals_or_discards_a_draft_that_they_have_not_read(
    signed_in: Client, world: World, act: str
) -> None:
    contract = world.drafted()
    old = read_on(signed_in, contract.engagement)
    signed_in.post(url("contract-terms", contract.engagement), typed(world, weeks="9", read=old))
    refused = signed_in.post(url(act, contract.engagement), {"read": old})
    assert refused.status_code == 422
    assert "Somebody has changed this draft" in refused.content.decode()
    assert ContractVersion.objects.get().state == ContractVersion.State.DRAFT
    new = read_on(signed_in, contract.engagement)
    assert signed_in.post(url(act, contract.engagement), {"read": new}).status_code == 302


def test_a_version_is_withdrawn_and_not_the_one_that_came_after(
    signed_in: Client, world: World
) -> None:
    contract = world.offered()
    withdraw = url("contract-withdraw", contract.engagement)
    first = {"reason": "The fee was wrong.", "version": "1"}
    signed_in.post(withdraw, first)
    signed_in.post(url("contract-terms", contract.engagement), typed(world))
    signed_in.post(url("contract-offer", contract.engagement))
    signed_in.post(withdraw, first)
    states = contract.engagement.contracts.values_list("number", "state")
    assert dict(states) == {1: "withdrawn", 2: "offered"}
