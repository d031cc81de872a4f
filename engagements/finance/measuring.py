"""Measure the ledger's queries on synthetic legs, in a transaction that is rolled back."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from engagements.engagement.models import Engagement
from engagements.finance import at_risk
from engagements.ledger import queries as ledger
from engagements.ledger.models import Account, Leg
from engagements.ledger.period_models import Period
from engagements.people.models import Role, User

CURRENCY = "EUR"
LEGS_AN_ENTRY = 4
MONTHS = 12
REPEATS = 5
CHUNK = 1_000

PEOPLE = """
INSERT INTO engagements_customer
    (name, address, country, vat_id, currency, invoice_email, buyer_reference, wants_e_invoice,
     locale, created_at)
SELECT 'Measured customer ' || n, '', 'DE', '', 'EUR', '', '', false, 'en_GB', now()
FROM generate_series(1, 100) n;
INSERT INTO engagements_engagement
    (reference, customer_id, lead_id, title, workload, stage, opened_at, stage_since)
SELECT 'MEASURED-' || n, (SELECT max(id) FROM engagements_customer) - n %% 100, %(lead)s,
       'Measured ' || n, '', 'active', now(), now()
FROM generate_series(1, %(engagements)s) n;
CREATE TEMPORARY TABLE measured ON COMMIT DROP AS
    SELECT row_number() OVER (ORDER BY id) AS n, id FROM engagements_engagement
    WHERE reference LIKE 'MEASURED-%%'
"""
# Engagements are paid in turn, over all months: four legs an entry.
ENTRIES = """
INSERT INTO engagements_entry (engagement_id, kind, dated_on, key, leg_count, created_at)
SELECT measured.id, 'payment_received',
       (%(first)s::date + (entry %% %(months)s) * interval '1 month'
        + (entry %% 28) * interval '1 day')::date,
       'measured:' || entry, 4, now()
FROM generate_series(%(from)s::int, %(to)s::int) entry
JOIN measured ON measured.n = 1 + entry %% %(engagements)s
RETURNING id
"""
LEGS = """
INSERT INTO engagements_leg (entry_id, account_id, engagement_id, dated_on, amount, currency)
SELECT entry.id, account.id, entry.engagement_id, entry.dated_on, side.amount, 'EUR'
FROM engagements_entry entry
CROSS JOIN (VALUES ('bank', 119), ('receivables', -119), ('fees_deferred', 100),
                   ('refund_liability', -100)) AS side (code, amount)
JOIN engagements_account account ON account.code = side.code
WHERE entry.id = ANY(%s)
"""


@dataclass(frozen=True)
class Measured:
    """The median time, query count and plans of one page."""

    name: str
    median_ms: float
    query_count: int
    plan: tuple[str, ...]


@contextmanager
def made_up(*, legs: int, engagements: int) -> Iterator[int]:
    """Insert synthetic legs; yield the number of legs and roll back."""
    lead = User.objects.order_by("pk").first()
    first = timezone.localdate().replace(day=1) - dt.timedelta(days=31 * MONTHS)
    facts: dict[str, Any] = {
        "engagements": engagements,
        "months": MONTHS,
        "first": first.replace(day=1),
    }
    entries = legs // LEGS_AN_ENTRY
    with transaction.atomic():
        lead = lead or User.objects.create(email="measured@example.com", name="Measured")
        with connection.cursor() as cursor:
            cursor.execute(PEOPLE, facts | {"lead": lead.pk})
            for begin in range(1, entries + 1, CHUNK):
                span = {"from": begin, "to": min(begin + CHUNK - 1, entries)}
                # In chunks, into analysed tables, as in production.
                cursor.execute(ENTRIES, facts | span)
                cursor.execute(LEGS, [[key for (key,) in cursor.fetchall()]])
                if begin == 1:
                    cursor.execute("ANALYZE")
            cursor.execute("ANALYZE")
        yield Leg.objects.count()
        transaction.set_rollback(True)


def measure_all() -> list[Measured]:
    """Measure every ledger page, and the trial balance with closed months."""
    bank = Account.objects.get(code="bank")
    measured = [
        _measured("trial balance, no month closed", ledger.trial_balance),
        _measured("account, newest legs", lambda: ledger.account_page(bank, CURRENCY)),
        _measured("account, by engagement", lambda: ledger.balances_of_engagements(bank, CURRENCY)),
        _measured("money at risk", lambda: at_risk.rows(CURRENCY)),
        _measured("one engagement", _read_an_engagement),
    ]
    with transaction.atomic():
        closed = timezone.localdate().replace(day=1) - dt.timedelta(days=1)
        first, second = (
            User.objects.create(email=f"{name}@example.com", name=name, role=Role.FINANCE)
            for name in ("closing", "approving")
        )
        row = Period.objects.create(month=closed.replace(day=1), proposed_by=first)
        row.state, row.approved_by, row.decided_at = Period.State.CLOSED, second, timezone.now()
        row.save()
        measured.append(_measured("trial balance, past months closed", ledger.trial_balance))
        transaction.set_rollback(True)
    return measured


def _read_an_engagement() -> object:
    engagement = Engagement.objects.filter(entries__isnull=False).earliest("pk")
    return ledger.engagement_balances(engagement), ledger.entries_of(engagement)


def _measured(name: str, read: Callable[[], object]) -> Measured:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        read()
    times_ms = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        read()
        times_ms.append((time.perf_counter() - began) * 1000)
    plan = [_plan(str(query["sql"])) for query in captured.captured_queries]
    return Measured(name, sorted(times_ms)[REPEATS // 2], len(captured), tuple(plan))


def _plan(sql: str) -> str:
    """The scans of a query's plan."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql}")
        lines = [line for (line,) in cursor.fetchall()]
    return "; ".join(
        line.split("->")[-1].split("  (")[0].strip() for line in lines if "Scan" in line
    )
