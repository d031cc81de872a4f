"""Cache the rows of a World's stages: services create them once in a process.

Later tests restore the rows, in a tenth of the time, if the result is the same: nothing else was
written, no patch or setting is active, and the date is unchanged. Otherwise the services run
again. A patch by another `MonkeyPatch` than the test's own goes unnoticed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from django.apps import apps
from django.conf import UserSettingsHolder, settings
from django.core import mail
from django.db import connection, transaction
from django.db.models import Model
from django.utils import timezone
from psycopg import sql

from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Engagement
from engagements.settlements.models import Settlement
from tests.database_cleanup import SEEDED, seeded_keys
from tests.engagements.world import World

# Fixtures that change services or observe them.
CHANGING = frozenset(
    {
        "caplog",
        "django_assert_max_num_queries",
        "django_assert_num_queries",
        "django_capture_on_commit_callbacks",
        "mailoutbox",
    }
)
READING = ("SELECT", "SAVEPOINT", "RELEASE SAVEPOINT")
# Writes of a sign-in, which affect no stage.
SIGNING_IN = (
    'INSERT INTO "django_session"',
    'UPDATE "django_session"',
    'UPDATE "engagements_user" SET "last_login"',
)

# Arguments of these types identify a cache entry by their repr.
PLAIN = (str, int, Decimal, dt.date, type(None))
Rows = dict[tuple[str, str], None]


@dataclass(frozen=True)
class _CachedRows:
    """The rows of a stage, and the objects that it returned."""

    day: dt.date
    restore: str
    people: dict[str, Any]
    result: Any = None


@dataclass
class _Cache:
    """The cached stages of this process; None for one that cannot be cached."""

    world: _CachedRows | None
    rows: Rows
    settings: dict[str, Any]
    seeded: str
    stories: dict[str, _CachedRows | None]


_caches: list[_Cache] = []


class CachedWorld(World):
    """A world whose stages are restored from the cache where possible."""

    def __init__(self, patches: pytest.MonkeyPatch) -> None:
        self._patches = patches
        self._signed_in = self._written = False
        day = timezone.localdate()
        cached = _caches[0] if _caches else None
        if cached is None or cached.world is None or cached.world.day != day:
            super().__init__()
            rows = _rows()
            people = deepcopy(_people(self))
            world = _CachedRows(day=day, restore=_statements(rows), people=people)
            _caches[:] = [_Cache(world, rows, _settings(), seeded_keys(), {})]
        else:
            self.__dict__.update(deepcopy(cached.world.people))
            _execute(cached.world.restore)

    @contextmanager
    def watched(self) -> Iterator[CachedWorld]:
        """Record other writes while this is active."""
        with connection.execute_wrapper(self._watch):
            yield self

    def _watch(self, execute: Callable[..., Any], statement: Any, *rest: Any) -> Any:
        text = str(statement)
        if text.startswith(SIGNING_IN):
            self._signed_in = True
        elif not text.startswith(READING):
            self._written = True
        return execute(statement, *rest)

    def _is_unchanged(self) -> bool:
        """Whether database and objects are unchanged since this world was created."""
        cached = _caches[0]
        return (
            not self._written
            # What a test commits, other connections may write, too.
            and (connection.in_atomic_block or not Engagement.objects.exists())
            and not _patched(self._patches)
            and _settings() == cached.settings
            and cached.world is not None
            and cached.world.day == timezone.localdate()
            and _fields(_people(self)) == _fields(cached.world.people)
        )

    def _restore_or_create(
        self, name: str, story: Callable[..., Any], changes: dict[str, Any]
    ) -> Any:
        plain = all(isinstance(value, PLAIN) for value in changes.values())
        if not plain or not self._is_unchanged():
            return story(self, **changes)
        key = f"{name} {sorted(changes.items())}"
        cached = _caches[0]
        if entry := cached.stories.get(key):
            _execute(entry.restore)
            mine = {id(theirs): self.__dict__[who] for who, theirs in entry.people.items()}
            self._written = True
            return deepcopy(entry.result, mine)
        # A stage begins with the one before it, which is restored or cached in turn.
        result = story(self, **changes)
        if key not in cached.stories and not self._signed_in:
            cached.stories[key] = self._cache_rows(result)
        return result

    def _cache_rows(self, result: Any) -> _CachedRows | None:
        """Cache entry of the stage just created; None if it changed earlier rows."""
        cached, rows = _caches[0], _rows()
        assert cached.world is not None
        changed = cached.rows.keys() - rows.keys() or seeded_keys() != cached.seeded
        if changed or _fields(_people(self)) != _fields(cached.world.people):
            return None
        new = {row: None for row in rows if row not in cached.rows}
        people, result = deepcopy((_people(self), result))
        return _CachedRows(
            day=cached.world.day, restore=_statements(new), people=people, result=result
        )

    def audited(self, **changes: Any) -> Engagement:
        result: Engagement = self._restore_or_create("audited", World.audited, changes)
        return result

    def offered(self, engagement: Engagement | None = None, **changes: Any) -> ContractVersion:
        if engagement is not None:
            return super().offered(engagement, **changes)
        result: ContractVersion = self._restore_or_create("offered", World.offered, changes)
        return result

    def active(self, engagement: Engagement | None = None, **changes: Any) -> ContractVersion:
        if engagement is not None:
            return super().active(engagement, **changes)
        result: ContractVersion = self._restore_or_create("active", World.active, changes)
        return result

    def decided(self, verdict: str, **changes: Any) -> ContractVersion:
        result: ContractVersion = self._restore_or_create(
            "decided", World.decided, {"verdict": verdict} | changes
        )
        return result

    def settlement(self, **changes: Any) -> Settlement:
        result: Settlement = self._restore_or_create("settlement", World.settlement, changes)
        return result


@contextmanager
def new_world(fixtures: list[str], patches: pytest.MonkeyPatch) -> Iterator[World]:
    """A cached world for a test with these fixtures, or one that its services create."""
    if not usable(fixtures, patches):
        yield World()
        return
    with CachedWorld(patches).watched() as world:
        yield world


def usable(fixtures: list[str], patches: pytest.MonkeyPatch) -> bool:
    """Whether a test with these fixtures may use the cache: nothing was written before it."""
    if is_changing(fixtures, patches):
        return False
    untouched_sql = (
        "pg_current_xact_id_if_assigned() IS NULL"
        if connection.in_atomic_block
        else "NOT EXISTS (SELECT FROM engagements_user)"
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {untouched_sql} AND current_setting('is_superuser') = 'on'")
        untouched = cursor.fetchone() == (True,)
    # A test that emptied the tables created accounts and clauses with other keys.
    if _caches and seeded_keys() != _caches[0].seeded:
        _caches.clear()
    return untouched and (not _caches or _settings() == _caches[0].settings)


def is_changing(fixtures: list[str], patches: pytest.MonkeyPatch) -> bool:
    """Whether a test may have changed services, or count their queries."""
    return bool(CHANGING & set(fixtures)) or _patched(patches)


def _patched(patches: pytest.MonkeyPatch) -> bool:
    """Whether anything is patched, apart from pytest-django's mail backend."""
    known: Any = patches
    return any(where is not mail.message for where, *_ in known._setattr) or bool(known._setitem)


def _settings() -> dict[str, Any]:
    """The overridden settings; without ALLOWED_HOSTS, which every live server overrides."""
    lazy: Any = settings
    overrides: dict[str, Any] = {}
    holder = lazy._wrapped
    while isinstance(holder, UserSettingsHolder):
        overrides = vars(holder) | overrides
        holder = holder.default_settings
    ignored = {"default_settings", "ALLOWED_HOSTS"}
    return {name: value for name, value in overrides.items() if name not in ignored}


def _people(world: World) -> dict[str, Any]:
    return {name: value for name, value in vars(world).items() if isinstance(value, Model)}


def _fields(people: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The fields of all people in memory, without their last sign-in."""
    # Copies also carry the version of Django.
    unlike = {"_state", "_django_version", "last_login"}
    return {
        name: {key: value for key, value in vars(row).items() if key not in unlike}
        for name, row in people.items()
    }


def _rows() -> Rows:
    """Every row of every table as PostgreSQL writes it, in the order it lies there."""
    models = apps.get_models(include_auto_created=True)
    names = {model._meta.db_table for model in models if model._meta.managed}
    each = (
        sql.SQL("SELECT {}, t::text FROM {} t").format(sql.Literal(name), sql.Identifier(name))
        for name in sorted(names - SEEDED)
    )
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL(" UNION ALL ").join(each).as_string(cursor.connection))
        return dict.fromkeys(cursor.fetchall())


def _statements(rows: Rows) -> str:
    """SQL that inserts these rows without triggers and keys, which checked them at creation."""
    tables: dict[str, list[str]] = {}
    for table, row in rows:
        tables.setdefault(table, []).append(row)
    parts = [
        sql.SQL("INSERT INTO {table} SELECT * FROM unnest({rows}::{table}[])").format(
            table=sql.Identifier(table), rows=sql.Literal(lines)
        )
        for table, lines in tables.items()
    ]
    role = "SET LOCAL session_replication_role = "
    whole = [sql.SQL(role + "replica"), *parts, sql.SQL(role + "origin")]
    with connection.cursor() as cursor:
        return sql.SQL("; ").join(whole).as_string(cursor.connection)


def _execute(statements: str) -> None:
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        cursor.execute(statements)
