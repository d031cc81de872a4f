"""Empty the tables after a test that commits by DELETE, in a tenth of the time of TRUNCATE.

Rows that migrations created stay, and so do the first clauses, which every contract needs. If a
test changed them, Django's flush and `seed` create them again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.test import TransactionTestCase
from psycopg import sql

# Created by migrations and by `seed`.
SEEDED = frozenset(
    {"auth_permission", "django_content_type", "engagements_account", "engagements_clause"}
)


@contextmanager
def by_deletion() -> Iterator[None]:
    """Replace Django's flush after tests that commit."""
    case: Any = TransactionTestCase
    setup, flush = case._fixture_setup.__func__, case._fixture_teardown
    seeded: list[str] = []

    def note_seeded(cls: Any) -> None:
        setup(cls)
        if not seeded:
            seeded.append(_seeded_rows())

    def empty(self: Any) -> None:
        if [_seeded_rows()] == seeded:
            _delete_all()
        else:
            flush(self)
            seed()
            seeded.clear()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(case, "_fixture_setup", classmethod(note_seeded))
        patch.setattr(case, "_fixture_teardown", empty)
        yield


def seed() -> None:
    """Publish the first clauses."""
    from engagements.contracts.clauses import services as clauses

    clauses.newest()


def seeded_keys() -> str:
    """The keys of accounts and clauses, which other rows refer to, and all of the accounts."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT string_agg(t::text, ';' ORDER BY id) FROM engagements_account t),"
            " (SELECT string_agg(id::text, ',' ORDER BY id) FROM engagements_clause)"
        )
        return str(cursor.fetchone())


def _seeded_rows() -> str:
    digest = "SELECT md5(string_agg(row::text, ',' ORDER BY id)) FROM {} row"
    queries = [sql.SQL(digest).format(sql.Identifier(name)) for name in sorted(SEEDED)]
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL(" UNION ALL ").join(queries).as_string(cursor.connection))
        return str(cursor.fetchall())


def _delete_all() -> None:
    """Delete all rows once pending writes of other connections have ended."""
    models = apps.get_models(include_auto_created=True)
    names = {model._meta.db_table for model in models if model._meta.managed} - SEEDED
    tables = [sql.Identifier(name) for name in sorted(names)]
    statements = [
        sql.SQL("LOCK TABLE {} IN EXCLUSIVE MODE").format(sql.SQL(", ").join(tables)),
        sql.SQL("SET LOCAL session_replication_role = replica"),
        *(sql.SQL("DELETE FROM {}").format(table) for table in tables),
    ]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql.SQL("; ").join(statements).as_string(cursor.connection))
