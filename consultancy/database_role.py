"""The database role of the site, which can change rows but not tables.

Triggers protect the history, and the owner of a table can disable its triggers. So the site and
its workers connect as a role that owns nothing: it has no TRUNCATE, no TRIGGER, no temporary
tables, and on append-only tables neither UPDATE nor DELETE. Migrations run as the owner, who
grants the role its rights again afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.apps import apps
from django.db import connection
from django.db.models import Model
from pgtrigger import Trigger
from psycopg import sql

from benchmarks.triggers import AppendOnly, WrittenByOwner, WrittenByTriggers

MIGRATIONS = "django_migrations"

READ, APPEND, CHANGE = "SELECT", "SELECT, INSERT", "SELECT, INSERT, UPDATE, DELETE"


def statements(role: str, *, password: str | None = None) -> Iterator[str]:
    """The SQL statements that create `role` and grant its rights, in order. Idempotent.

    Without `password` a new role cannot sign in with one.
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
    """The privileges of the role on each table, derived from its model's triggers."""
    triggers = {model._meta.db_table: _triggers(model) for model in apps.get_models()}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, relkind = 'v' FROM pg_class "
            "WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v')"
        )
        return {
            table: READ if is_view or table == MIGRATIONS else _rights(triggers.get(table, []))
            for table, is_view in cursor.fetchall()
        }


def _triggers(model: type[Model]) -> list[Trigger]:
    return getattr(model._meta, "triggers", [])


def _rights(triggers: list[Trigger]) -> str:
    if any(isinstance(trigger, WrittenByTriggers | WrittenByOwner) for trigger in triggers):
        return READ
    return APPEND if any(isinstance(trigger, AppendOnly) for trigger in triggers) else CHANGE


def _exists(role: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role])
        return cursor.fetchone() is not None


def _text(template: str, *parts: sql.Composable) -> str:
    with connection.cursor() as cursor:
        # Quoting depends on the connection.
        return sql.SQL(template).format(*parts).as_string(cursor.connection)
