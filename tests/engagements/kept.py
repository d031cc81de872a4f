"""The stories that most tests begin with are told by the services once in a process.

After that their rows are put back as they were, which takes a tenth of the time. Only where the
test cannot tell: nothing else is written yet, nothing is patched or set differently, and the day
is still the same. Everywhere else the services tell the story anew. What is not noticed: a patch
by another `MonkeyPatch` than the test's own, as long as the story is told inside it.
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
from django.conf import settings
from django.core import mail
from django.db import connection
from django.db.models import Model
from django.utils import timezone
from psycopg import sql

from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Engagement
from engagements.settlements.models import Settlement
from tests.emptying import SEEDED
from tests.engagements.world import World

# Whoever has these may change what services do, or watch them at it.
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
# Whoever signs in leaves traces that no story looks at.
SIGNING_IN = (
    'INSERT INTO "django_session"',
    'UPDATE "django_session"',
    'UPDATE "engagements_user" SET "last_login"',
)

# A story is known by what it was told with: by values that look different where they are.
PLAIN = (str, int, Decimal, dt.date, type(None))
Rows = dict[tuple[str, str], None]


@dataclass(frozen=True)
class _Kept:
    """A story's rows, and what telling it left in memory."""

    day: dt.date
    put_back: str
    people: dict[str, Any]
    told: Any = None


@dataclass
class _Shelf:
    """What this process has kept: `None` for what cannot be."""

    world: _Kept | None
    rows: Rows
    settings: object
    accounts: str
    stories: dict[str, _Kept | None]


_shelves: list[_Shelf] = []


class KeptWorld(World):
    """A world whose stages come from the shelf where that makes no difference."""

    def __init__(self, patches: pytest.MonkeyPatch) -> None:
        self._patches = patches
        self._signed_in = self._written = self._telling = False
        day = timezone.localdate()
        shelf = _shelves[0] if _shelves else None
        if shelf is None or shelf.world is None or shelf.world.day != day:
            super().__init__()
            rows = _rows()
            people = deepcopy(_people(self))
            kept = _Kept(day=day, put_back=_statements(rows), people=people)
            _shelves[:] = [_Shelf(kept, rows, _settings(), _accounts(), {})]
        else:
            self.__dict__.update(deepcopy(shelf.world.people))
            _execute(shelf.world.put_back)

    @contextmanager
    def watched(self) -> Iterator[KeptWorld]:
        """Notice what else is written as long as this lasts."""
        with connection.execute_wrapper(self._watch):
            yield self

    def _watch(self, execute: Callable[..., Any], statement: Any, *rest: Any) -> Any:
        text = str(statement)
        if text.startswith(SIGNING_IN):
            self._signed_in = True
        elif not text.startswith(READING):
            self._written = True
        return execute(statement, *rest)

    def _as_made(self) -> bool:
        """Whether all is as it was after this world was made, in the database and in memory."""
        shelf = _shelves[0]
        return (
            not self._written
            and not _patched(self._patches)
            and _settings() is shelf.settings
            and shelf.world is not None
            and shelf.world.day == timezone.localdate()
            and _fields(_people(self)) == _fields(shelf.world.people)
        )

    def _tell(self, name: str, story: Callable[..., Any], changes: dict[str, Any]) -> Any:
        plain = all(isinstance(value, PLAIN) for value in changes.values())
        if self._telling or not plain or not self._as_made():
            return story(self, **changes)
        key = f"{name} {sorted(changes.items())}"
        shelf = _shelves[0]
        if kept := shelf.stories.get(key):
            _execute(kept.put_back)
            mine = {id(theirs): self.__dict__[who] for who, theirs in kept.people.items()}
            self._written = True
            return deepcopy(kept.told, mine)
        self._telling = True
        told = story(self, **changes)
        if key not in shelf.stories and not self._signed_in:
            shelf.stories[key] = self._keep(told)
        return told

    def _keep(self, told: Any) -> _Kept | None:
        """The story just told; None where it changed what was there before it."""
        shelf, rows = _shelves[0], _rows()
        assert shelf.world is not None
        changed = shelf.rows.keys() - rows.keys() or _accounts() != shelf.accounts
        if changed or _fields(_people(self)) != _fields(shelf.world.people):
            return None
        new = {row: None for row in rows if row not in shelf.rows}
        people, told = deepcopy((_people(self), told))
        return _Kept(day=shelf.world.day, put_back=_statements(new), people=people, told=told)

    def audited(self, **changes: Any) -> Engagement:
        told: Engagement = self._tell("audited", World.audited, changes)
        return told

    def offered(self, engagement: Engagement | None = None, **changes: Any) -> ContractVersion:
        if engagement is not None:
            return super().offered(engagement, **changes)
        told: ContractVersion = self._tell("offered", World.offered, changes)
        return told

    def active(self, engagement: Engagement | None = None, **changes: Any) -> ContractVersion:
        if engagement is not None:
            return super().active(engagement, **changes)
        told: ContractVersion = self._tell("active", World.active, changes)
        return told

    def decided(self, verdict: str, **changes: Any) -> ContractVersion:
        told: ContractVersion = self._tell("decided", World.decided, {"verdict": verdict} | changes)
        return told

    def settlement(self, **changes: Any) -> Settlement:
        told: Settlement = self._tell("settlement", World.settlement, changes)
        return told


def usable(fixtures: list[str], patches: pytest.MonkeyPatch) -> bool:
    """Whether a test with these fixtures may begin with what is kept."""
    if is_changing(fixtures, patches) or not connection.in_atomic_block:
        return False
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_current_xact_id_if_assigned() IS NULL AND "
            "current_setting('is_superuser') = 'on'"
        )
        untouched = cursor.fetchone() == (True,)
    # A test that emptied the tables left other accounts than those that the rows speak of.
    if _shelves and _accounts() != _shelves[0].accounts:
        _shelves.clear()
    return untouched and (not _shelves or _settings() is _shelves[0].settings)


def is_changing(fixtures: list[str], patches: pytest.MonkeyPatch) -> bool:
    """Whether a test may have changed services, or count their queries."""
    return bool(CHANGING & set(fixtures)) or _patched(patches)


def _patched(patches: pytest.MonkeyPatch) -> bool:
    """Whether anything is, but for what pytest-django itself puts in mail's place."""
    known: Any = patches
    return any(where is not mail.message for where, *_ in known._setattr) or bool(known._setitem)


def _settings() -> object:
    """The settings as they are overridden now."""
    lazy: Any = settings
    return lazy._wrapped


def _people(world: World) -> dict[str, Any]:
    return {name: value for name, value in vars(world).items() if isinstance(value, Model)}


def _fields(people: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Everybody's fields in memory, but for when they signed in."""
    # A copy of a row also says which Django it was copied with.
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
    """What writes these rows, asking no trigger and no key: they were asked when it was told."""
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


def _accounts() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(t::text, ';' ORDER BY id) FROM engagements_account t")
        return str(cursor.fetchone())


def _execute(statements: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statements)
