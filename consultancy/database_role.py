"""The database role that the site runs as: it works with rows and has no power over tables.

Triggers refuse to change history, and whoever owns a table may switch its triggers off. So the
site and its workers connect as a role that owns nothing: no TRUNCATE, no triggers, no
temporary tables to hang triggers on, and on what is only ever added to neither UPDATE nor
DELETE. Migrations run as the owner, who then grants again what the new tables need.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.apps import apps
from django.db import connection
from psycopg import sql

# What a table's triggers say about it: rows are only added, or the database alone writes them.
ONLY_ADDED = frozenset({"append_only"})
KEPT_BY_TRIGGER = frozenset({"event_chain_is_checked", "kept_by_trigger"})
MIGRATIONS = "django_migrations"

READ, ADD, CHANGE = "SELECT", "SELECT, INSERT", "SELECT, INSERT, UPDATE, DELETE"


def statements(role: str, *, password: str | None = None) -> Iterator[str]:
    """What makes `role` of the connected database, in order; repeated, it changes nothing.

    Without `password` a new role cannot sign in by one until it is given one.
    """
    name = sql.Identifier(role)
    database = sql.Identifier(str(connection.settings_dict["NAME"]))
    if not _exists(role):
        yield _text("CREATE ROLE {} LOGIN", name)
    yield _text("ALTER ROLE {} NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS", name)
    if password is not None:
        yield _text("ALTER ROLE {} PASSWORD {}", name, sql.Literal(password))
    yield _text("REVOKE TEMPORARY ON DATABASE {} FROM PUBLIC", database)
    yield _text("REVOKE ALL ON DATABASE {} FROM {}", database, name)
    yield _text("GRANT CONNECT ON DATABASE {} TO {}", database, name)
    yield "REVOKE CREATE ON SCHEMA public FROM PUBLIC"
    yield _text("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {}", name)
    yield _text("GRANT USAGE ON SCHEMA public TO {}", name)
    yield _text("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {}", name)
    for table, rights in sorted(rights_by_table().items()):
        yield _text("GRANT " + rights + " ON {} TO {}", sql.Identifier(table), name)


def rights_by_table() -> dict[str, str]:
    """What the role may do with the rows of each table, by what its triggers say."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT relname, relkind = 'v', ARRAY(SELECT tgname::text FROM pg_trigger
                                  WHERE tgrelid = pg_class.oid AND NOT tgisinternal)
            FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v')
            """
        )
        return {
            table: READ if is_view else _rights(table, set(triggers))
            for table, is_view, triggers in cursor.fetchall()
        }


def _rights(table: str, triggers: set[str]) -> str:
    if table == MIGRATIONS or triggers & KEPT_BY_TRIGGER:
        return READ
    if triggers & ONLY_ADDED:
        # When a draft goes Django asks for none of its rows here; a trigger answers the rest.
        return f"{ADD}, DELETE" if table in _joining() else ADD
    return CHANGE


def _joining() -> set[str]:
    """The tables that Django made for relations of many to many."""
    models = apps.get_models(include_auto_created=True)
    return {model._meta.db_table for model in models if model._meta.auto_created}


def _exists(role: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role])
        return cursor.fetchone() is not None


def _text(template: str, *parts: sql.Composable) -> str:
    with connection.cursor() as cursor:
        # The raw connection knows how to quote for its own server.
        return sql.SQL(template).format(*parts).as_string(cursor.connection)
