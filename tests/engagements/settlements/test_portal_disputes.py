"""The customer disputes a settlement, inside the window, and it waits."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from engagements.common.errors import ApplicationError
from engagements.settlements import disputes
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements.world import World


def url(row: Settlement) -> str:
    return reverse("portal-dispute", args=[row.contract_version.engagement.reference])


def test_a_signatory_disputes_and_finance_resolves(client: Client, world: World) -> None:
    row = world.settlement()
    client.force_login(world.signatory)
    assert "you can object" in client.get(url(row)).content.decode()
    for _ in range(2):
        assert client.post(url(row), {"reason": "The run was cut short."}).status_code == 302
    assert row.disputes.count() == 1
    with pytest.raises(ApplicationError, match="on hold"):
        settlements.approve(settlement=row, by=world.controller)
    client.force_login(world.finance)
    page = client.get(reverse("settlement", args=[row.pk])).content.decode()
    assert "The run was cut short." in page
    act = reverse("settlement-resolve", args=[row.pk])
    assert client.post(act, {"note": " "}).status_code == 422
    assert client.post(act, {"note": "Measured again, the same."}).status_code == 302
    assert settlements.approve(settlement=row, by=world.controller).state == "approved"
    client.force_login(world.signatory)
    assert "Measured again, the same." in client.get(url(row)).content.decode()


def test_only_a_signatory_disputes_and_strangers_find_nothing(client: Client, world: World) -> None:
    row = world.settlement()
    for person, status in (
        (world.viewer, 403),
        (world.stranger, 404),
        (world.finance, 403),
        (world.nobody, 404),
    ):
        client.force_login(person)
        assert client.post(url(row), {"reason": "No."}).status_code == status
    assert not row.disputes.exists()
    with pytest.raises(ApplicationError, match="signatory"):
        disputes.raise_dispute(settlement=row, reason="No.", by=world.viewer)


def test_without_a_settlement_there_is_nothing_to_dispute(client: Client, world: World) -> None:
    client.force_login(world.signatory)
    reference = world.active().engagement.reference
    assert client.get(reverse("portal-dispute", args=[reference])).status_code == 404
