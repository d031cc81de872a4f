"""Disputes: their period, the hold, their resolution; and rows that the database protects."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse

from engagements.payouts import refunds
from engagements.settlements import disputes
from engagements.settlements import services as settlements
from engagements.settlements.dispute_models import Dispute
from engagements.settlements.models import Settlement
from tests.engagements.world import World, days, today
from tests.errors import declined

OnDay = Callable[[dt.date], None]


def disputed(world: World, row: Settlement, reason: str = "Too little.") -> Dispute:
    return disputes.raise_dispute(settlement=row, reason=reason, by=world.signatory)


def portal_url(row: Settlement) -> str:
    return reverse("portal-dispute", args=[row.contract_version.engagement.reference])


def refused_by_the_database(sql: str, *keys: int) -> None:
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, keys)


def test_a_dispute_is_declined_after_its_period(
    world: World, client: Client, on_day: OnDay
) -> None:
    row = world.settlement(dispute_days=14)
    on_day(today() + days(15))
    with declined("dispute.period_ended"):
        disputed(world, row)
    client.force_login(world.signatory)
    assert 'data-error="dispute.period_ended"' in client.get(portal_url(row)).content.decode()


def test_the_period_starts_again_with_the_approval(world: World, on_day: OnDay) -> None:
    settlement = world.settlement(dispute_days=14)
    on_day(today() + days(10))
    settlement = settlements.approve(settlement=settlement, by=world.controller)
    on_day(today() + days(14))
    assert disputed(world, settlement)
    with declined("settlement.on_hold"):
        refunds.start_payment(settlement=settlement, by=world.finance)


def test_an_open_dispute_is_repeated_but_not_replaced(world: World) -> None:
    row = world.settlement()
    first = disputed(world, row)
    assert disputed(world, row) == first
    with declined("dispute.already_open"):
        disputed(world, row, "The tax.")


def test_a_transfer_that_is_with_the_bank_still_arrives(world: World) -> None:
    row = settlements.approve(settlement=world.settlement(), by=world.controller)
    row = refunds.start_payment(settlement=row, by=world.finance)
    disputed(world, row)
    paid = refunds.mark_paid(settlement=row, reference="R-1", by=world.finance)
    assert paid.state == Settlement.State.PAID


def test_voiding_ends_the_dispute_and_nothing_is_left_to_dispute(world: World) -> None:
    row = world.settlement()
    disputed(world, row)
    settlements.void(settlement=row, reason="You are right.", by=world.finance)
    assert row.disputes.get().resolution == "You are right."
    with declined("dispute.settlement_voided"):
        disputed(world, row)


def test_a_signatory_disputes_and_finance_resolves(client: Client, world: World) -> None:
    row = world.settlement()
    client.force_login(world.signatory)
    for _ in range(2):
        answer = client.post(portal_url(row), {"reason": "The run was cut short."})
        assert answer.status_code == 302
    assert row.disputes.count() == 1
    with declined("settlement.on_hold"):
        settlements.approve(settlement=row, by=world.controller)
    client.force_login(world.finance)
    page = client.get(reverse("settlement", args=[row.pk])).content.decode()
    assert "The run was cut short." in page
    resolve = reverse("settlement-resolve", args=[row.pk])
    assert client.post(resolve, {"note": " "}).status_code == 422
    assert client.post(resolve, {"note": "Measured again, the same."}).status_code == 302
    assert settlements.approve(settlement=row, by=world.controller).state == "approved"
    client.force_login(world.signatory)
    assert "Measured again, the same." in client.get(portal_url(row)).content.decode()


def test_only_signatories_dispute(client: Client, world: World) -> None:
    row = world.settlement()
    for person, status in (
        (world.viewer, 403),
        (world.stranger, 404),
        (world.finance, 403),
        (world.nobody, 404),
    ):
        client.force_login(person)
        assert client.post(portal_url(row), {"reason": "No."}).status_code == status
    assert not row.disputes.exists()
    with declined("access.signatories_only"):
        disputes.raise_dispute(settlement=row, reason="No.", by=world.viewer)


def test_without_a_settlement_there_is_no_page(client: Client, world: World) -> None:
    client.force_login(world.signatory)
    reference = world.active().engagement.reference
    assert client.get(reverse("portal-dispute", args=[reference])).status_code == 404


def test_a_newer_dispute_is_not_resolved_from_an_old_page(world: World, client: Client) -> None:
    row = world.settlement(dispute_days=14)
    first = disputed(world, row)
    client.force_login(world.finance)
    page = client.get(reverse("settlement", args=[row.pk])).content.decode()
    assert f'name="dispute" value="{first.pk}"' in page
    disputes.resolve_open(settlement=row, note="It stays.", by=world.controller)
    second = disputed(world, row, "The tax.")
    with declined("dispute.outdated"):
        disputes.resolve_open(settlement=row, note="It stays.", expected=first.pk, by=world.finance)
    url = reverse("settlement-resolve", args=[row.pk])
    sent = {"note": "It stays.", "dispute": first.pk}
    assert client.post(url, sent).status_code == 422
    second.refresh_from_db()
    assert second.resolved_at is None
    assert client.post(url, sent | {"dispute": second.pk}).status_code == 302


def test_the_database_protects_disputes_and_holds(world: World) -> None:
    row = world.settlement()
    dispute = disputed(world, row)
    refused_by_the_database(
        "UPDATE engagements_settlement SET state = 'approved', approved_by_id = %s,"
        " approved_at = now() WHERE id = %s",
        world.controller.pk,
        row.pk,
    )
    refused_by_the_database("DELETE FROM engagements_dispute WHERE id = %s", dispute.pk)
    refused_by_the_database(
        "UPDATE engagements_dispute SET reason = 'All is well' WHERE id = %s", dispute.pk
    )


def test_the_database_protects_transfers_and_paid_settlements(world: World) -> None:
    row = settlements.approve(settlement=world.settlement(), by=world.controller)
    refunds.start_payment(settlement=row, by=world.finance)
    key = row.transfers.get().pk
    refused_by_the_database("UPDATE engagements_transfer SET amount = 1 WHERE id = %s", key)
    refused_by_the_database("DELETE FROM engagements_transfer WHERE id = %s", key)
    refunds.mark_paid(settlement=row, reference="R-1", by=world.finance)
    refused_by_the_database(
        "UPDATE engagements_transfer SET outcome = '', ended_at = NULL WHERE id = %s", key
    )
    refused_by_the_database(
        "UPDATE engagements_settlement SET payment_reference = 'R-2' WHERE id = %s", row.pk
    )


def test_a_signatory_withdraws_a_dispute_and_the_hold_ends(world: World, client: Client) -> None:
    row = world.settlement()
    disputed(world, row)
    url = reverse("portal-dispute-withdraw", args=[row.contract_version.engagement.reference])
    with declined("access.signatories_only"):
        disputes.withdraw(settlement=row, by=world.viewer)
    client.force_login(world.signatory)
    assert url in client.get(portal_url(row)).content.decode()
    for _ in range(2):
        assert client.post(url).status_code == 302
    ended = row.disputes.get()
    assert ended.resolved_by == world.signatory
    assert settlements.approve(settlement=row, by=world.controller).approved_by == world.controller
