"""Entries balance, post once, and are immutable in the database."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from engagements.ledger import chart, posting
from engagements.ledger.models import Account, Entry, Leg, MonthTotal
from engagements.ledger.period_models import PeriodTotal
from engagements.ledger.posting import LegDraft
from tests.engagements.world import World, closed_month
from tests.errors import declined

DAY = dt.date(2026, 3, 14)


def legs(amount: str = "100", currency: str = "EUR") -> list[LegDraft]:
    """A payment received."""
    value = Decimal(amount)
    return [
        LegDraft(chart.BANK, value, currency),
        LegDraft(chart.RECEIVABLES, -value, currency),
    ]


def post(world: World, **changes: Any) -> Entry:
    entry: dict[str, Any] = {
        "engagement": changes.pop("engagement", None) or world.scoping(),
        "kind": Entry.Kind.PAYMENT_RECEIVED,
        "dated_on": DAY,
        "legs": legs(),
        "key": "payment:1",
    }
    return posting.post(**entry | changes)


def settle_constraints() -> None:
    """Check the deferred constraints now."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")


def refused_by_the_database(sql: str, *parameters: Any) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        run_to_the_commit(sql, parameters)


def run_to_the_commit(sql: str, parameters: tuple[Any, ...]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
    settle_constraints()


def test_an_entry_has_its_legs_and_the_months_their_totals(world: World) -> None:
    entry = post(world)
    settle_constraints()
    assert {(leg.account.code, leg.amount) for leg in entry.legs.all()} == {
        ("bank", Decimal(100)),
        ("receivables", Decimal(-100)),
    }
    total = MonthTotal.objects.get(account__code="bank")
    assert (total.month, total.debit, total.credit) == (dt.date(2026, 3, 1), 100, 0)


def test_a_key_is_posted_once(world: World) -> None:
    engagement = world.scoping()
    assert post(world, engagement=engagement) == post(world, engagement=engagement)
    assert Leg.objects.count() == 2
    with pytest.raises(ValueError, match="payment:1"):
        post(world, engagement=engagement, legs=legs("99"))


def test_invalid_legs_are_a_mistake(world: World) -> None:
    engagement = world.scoping()
    for wrong in (
        legs()[:1],
        [*legs()[:1], LegDraft(chart.RECEIVABLES, Decimal(-100), "USD")],
        legs("0.001"),
        legs("1.5", "JPY"),
        [],
        [LegDraft("petty_cash", Decimal(1), "EUR"), LegDraft(chart.BANK, Decimal(-1), "EUR")],
    ):
        with pytest.raises(ValueError, match=r"payment:1|petty_cash"), transaction.atomic():
            post(world, engagement=engagement, legs=wrong)


def test_each_currency_adds_up_by_itself(world: World) -> None:
    entry = post(world, legs=[*legs("100", "EUR"), *legs("0.125", "KWD"), *legs("7", "JPY")])
    settle_constraints()
    assert entry.leg_count == 6


def test_raw_sql_cannot_leave_an_entry_unbalanced(world: World) -> None:
    entry = post(world)
    account = Account.objects.get(code="bank").pk
    refused_by_the_database(
        "WITH entry AS (INSERT INTO engagements_entry (engagement_id, kind, dated_on, key,"
        " leg_count, created_at) VALUES (%s, 'x', '2026-03-14', 'raw', 2, now())"
        " RETURNING id, engagement_id, dated_on) SELECT id FROM entry",
        entry.engagement_id,
    )
    refused_by_the_database(
        "INSERT INTO engagements_leg (entry_id, account_id, engagement_id, dated_on, amount,"
        " currency) VALUES (%s, %s, %s, '2026-03-14', 5, 'EUR')",
        entry.pk,
        account,
        entry.engagement_id,
    )


IMMUTABLE = (
    "UPDATE engagements_leg SET amount = amount * 2",
    "DELETE FROM engagements_leg",
    "UPDATE engagements_entry SET dated_on = '2026-01-01'",
    "DELETE FROM engagements_entry",
    "UPDATE engagements_monthtotal SET debit = 0",
    "DELETE FROM engagements_monthtotal",
    "INSERT INTO engagements_monthtotal (engagement_id, account_id, currency, month, debit,"
    " credit, leg_count) SELECT engagement_id, account_id, 'USD', month, 1, 0, 1"
    " FROM engagements_monthtotal LIMIT 1",
    "UPDATE engagements_account SET kind = 'revenue' WHERE code = 'bank'",
    "DELETE FROM engagements_account WHERE code = 'bank'",
    "UPDATE engagements_period SET month = '2030-01-01'",
    "DELETE FROM engagements_period",
    "UPDATE engagements_periodtotal SET debit = 0",
)


def test_raw_sql_cannot_change_the_ledger(world: World) -> None:
    post(world)
    settle_constraints()
    closed_month(world, dt.date(2026, 3, 1))
    for sql in IMMUTABLE:
        refused_by_the_database(sql)


def test_nothing_is_dated_into_a_closed_month_or_before_it(world: World) -> None:
    closed_month(world, dt.date(2026, 3, 1))
    engagement = world.scoping()
    for day in (DAY, dt.date(2026, 3, 31), dt.date(2025, 1, 1)):
        with declined("period.closed"):
            post(world, engagement=engagement, dated_on=day)
        refused_by_the_database(
            "INSERT INTO engagements_entry (engagement_id, kind, dated_on, key, leg_count,"
            " created_at) VALUES (%s, 'x', %s, 'raw', 2, now())",
            engagement.pk,
            day,
        )
    assert post(world, engagement=engagement, dated_on=dt.date(2026, 4, 1)).leg_count == 2


def test_a_closed_period_keeps_the_totals_of_its_months(world: World) -> None:
    post(world)
    post(world, dated_on=dt.date(2026, 2, 3), key="payment:2", legs=legs("7"))
    post(world, dated_on=dt.date(2026, 4, 3), key="payment:3", legs=legs("1"))
    period = closed_month(world, dt.date(2026, 3, 1))
    total = PeriodTotal.objects.get(period=period, account__code="bank")
    assert (total.debit, total.credit, total.leg_count) == (107, 0, 2)
