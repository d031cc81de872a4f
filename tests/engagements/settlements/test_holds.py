"""A dispute's window and its hold, and what the database refuses whoever asks."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse

from engagements.common.errors import ApplicationError
from engagements.payouts import refunds
from engagements.settlements import disputes
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements.world import World, days, today


def refused_by_the_database(sql: str, *keys: int) -> None:
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, keys)


def test_a_dispute_comes_inside_the_window(world: World, on_day: Callable[[dt.date], None]) -> None:
    settlement = world.settlement(dispute_days=14)
    on_day(today() + days(15))
    with pytest.raises(ApplicationError, match="inside the agreed window"):
        disputes.raise_dispute(settlement=settlement, reason="No.", by=world.signatory)


def test_the_window_begins_anew_when_the_figures_are_shown(
    world: World, on_day: Callable[[dt.date], None]
) -> None:
    settlement = world.settlement(dispute_days=14)
    on_day(today() + days(10))
    settlement = settlements.approve(settlement=settlement, by=world.controller)
    on_day(today() + days(14))
    assert disputes.raise_dispute(settlement=settlement, reason="No.", by=world.signatory)
    with pytest.raises(ApplicationError, match="on hold"):
        refunds.start_payment(settlement=settlement, by=world.finance)


def test_what_the_bank_has_already_still_arrives(world: World) -> None:
    row = settlements.approve(settlement=world.settlement(), by=world.controller)
    row = refunds.start_payment(settlement=row, by=world.finance)
    disputes.raise_dispute(settlement=row, reason="Too little.", by=world.signatory)
    paid = refunds.mark_paid(settlement=row, reference="R-1", by=world.finance)
    assert paid.state == Settlement.State.PAID


def test_voiding_ends_the_dispute(world: World) -> None:
    row = world.settlement()
    disputes.raise_dispute(settlement=row, reason="Too little.", by=world.signatory)
    settlements.void(settlement=row, reason="You are right.", by=world.finance)
    assert row.disputes.get().resolution == "You are right."


def test_the_database_holds_what_is_disputed(world: World) -> None:
    row = world.settlement()
    dispute = disputes.raise_dispute(settlement=row, reason="Too little.", by=world.signatory)
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


def test_the_database_lets_nobody_approve_what_they_proposed(world: World) -> None:
    row = world.settlement()
    settlements.void(settlement=row, reason="Once more", by=world.finance)
    mine = settlements.propose(contract=row.contract_version, reason="missed", by=world.finance)
    refused_by_the_database(
        "UPDATE engagements_settlement SET state = 'approved', approved_by_id = %s,"
        " approved_at = now() WHERE id = %s",
        world.finance.pk,
        mine.pk,
    )


def test_the_database_keeps_transfers_and_what_is_paid(world: World) -> None:
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


def test_a_dispute_that_nobody_has_read_is_not_resolved_by_an_old_page(
    world: World, client: Client
) -> None:
    row = world.settlement(dispute_days=14)
    first = disputes.raise_dispute(settlement=row, reason="Too little.", by=world.signatory)
    client.force_login(world.finance)
    page = client.get(reverse("settlement", args=[row.pk])).content.decode()
    assert re.search(rf'name="dispute" value="{first.pk}"', page)
    disputes.resolve(dispute=first, note="It stays.", by=world.controller)
    second = disputes.raise_dispute(settlement=row, reason="The tax.", by=world.signatory)
    sent = {"note": "It stays.", "dispute": first.pk}
    answer = client.post(reverse("settlement-resolve", args=[row.pk]), sent)
    assert answer.status_code == 422
    assert "Another dispute was raised since you looked" in answer.content.decode()
    second.refresh_from_db()
    assert second.resolved_at is None
    sent = {"note": "Corrected.", "dispute": second.pk}
    assert client.post(reverse("settlement-resolve", args=[row.pk]), sent).status_code == 302
