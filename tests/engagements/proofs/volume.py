"""A month of many engagements, written in bulk: rows as the services write them, without them.

Engagements are copies of one that the services made, with its contract and its milestones; the
ledger's entries are copied in by COPY. Triggers are off meanwhile, so the totals that they keep
are computed here in one statement. Whoever fills must be a superuser.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import Model, QuerySet

from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Engagement
from engagements.ledger.models import Account

# What one customer's payment posts: three legs that add up to nothing.
LEGS = (
    ("bank", Decimal("119.00")),
    ("fees_deferred", Decimal("-100.00")),
    ("output_tax", Decimal("-19.00")),
)
MONTHS = 24


@contextmanager
def without_triggers() -> Iterator[None]:
    """All or nothing, and nothing is checked."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET LOCAL session_replication_role = replica")
        yield
        cursor.execute("SET LOCAL session_replication_role = origin")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def _advance(cursor: CursorWrapper, table: str) -> None:
    """Move a table's sequence past its rows, never back: no rollback undoes `setval`.

    Rows that `cached_world` restores keep keys that the sequence has passed.
    """
    key = f"'{table}_id_seq'"
    cursor.execute(f"SELECT setval({key}, greatest((SELECT max(id) FROM {table}), nextval({key})))")


def copies(contract: ContractVersion, count: int, *, first: int = 0) -> list[ContractVersion]:
    """`count` further engagements with a contract and milestones like this one's.

    Their references count from `first`.
    """
    with without_triggers():
        engagement = _copy(
            Engagement,
            Engagement.objects.filter(pk=contract.engagement_id),
            count,
            f"'reference', 'TF-V-' || ({first} + number)",
        )
        version = _copy(
            ContractVersion,
            ContractVersion.objects.filter(pk=contract.pk),
            count,
            f"'engagement_id', {engagement} + number",
        )
        _copy(
            Milestone,
            contract.milestones.order_by("pk"),
            count,
            f"'contract_version_id', {version} + number",
        )
    return list(
        ContractVersion.objects.filter(pk__gte=version).select_related("engagement").order_by("pk")
    )


def _copy(model: type[Model], originals: QuerySet[Any], count: int, changes: str) -> int:
    """Copy rows `count` times, each with `changes` by its `number`; the first new key."""
    table = model._meta.db_table
    keys = ", ".join(str(key) for key in originals.values_list("pk", flat=True))
    step = originals.count()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT max(id) + 1 FROM {table}")
        first: int = cursor.fetchone()[0]
        cursor.execute(
            f"""
            INSERT INTO {table}
            SELECT (jsonb_populate_record(NULL::{table}, said || jsonb_build_object(
                'id', {first} + number * {step} + place, {changes}))).*
            FROM generate_series(0, {count - 1}) AS number,
                 (SELECT to_jsonb(row) AS said, row_number() OVER (ORDER BY id) - 1 AS place
                  FROM {table} AS row WHERE id IN ({keys})) AS original
            """
        )
        _advance(cursor, table)
        cursor.execute(f"ANALYZE {table}")
    return first


def ledger(engagements: list[Engagement], legs: int, until: dt.date) -> None:
    """Entries of three legs each over two years until `until`, spread over `engagements`."""
    accounts = dict(Account.objects.values_list("code", "pk"))
    entries = legs // len(LEGS)
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(max(id), 0) + 1 FROM engagements_entry")
        first = cursor.fetchone()[0]
    rows = [
        (
            first + number,
            engagements[number % len(engagements)].pk,
            until - dt.timedelta(days=number * MONTHS * 30 // entries),
        )
        for number in range(entries)
    ]
    with without_triggers(), connection.cursor() as cursor:
        with cursor.copy(
            "COPY engagements_entry (id, engagement_id, kind, dated_on, key, leg_count, created_at)"
            " FROM STDIN"
        ) as copy:
            for pk, engagement, day in rows:
                copy.write_row(
                    (pk, engagement, "payment_received", day, f"volume:{pk}", len(LEGS), day)
                )
        with cursor.copy(
            "COPY engagements_leg (entry_id, account_id, engagement_id, dated_on, amount, currency)"
            " FROM STDIN"
        ) as copy:
            for pk, engagement, day in rows:
                for code, amount in LEGS:
                    copy.write_row((pk, accounts[code], engagement, day, amount, "EUR"))
        cursor.execute(
            """
            INSERT INTO engagements_monthtotal
                (engagement_id, account_id, currency, month, debit, credit, leg_count)
            SELECT engagement_id, account_id, currency, date_trunc('month', dated_on),
                   sum(greatest(amount, 0)), sum(greatest(-amount, 0)), count(*)
            FROM engagements_leg WHERE entry_id >= %s GROUP BY 1, 2, 3, 4
            """,
            [first],
        )
        _advance(cursor, "engagements_entry")
        cursor.execute(
            "ANALYZE engagements_entry; ANALYZE engagements_leg; ANALYZE engagements_monthtotal"
        )
