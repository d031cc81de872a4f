"""Read an untrusted SQLite file: read-only, without running its code, with a time limit."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from engagements.evidence.readers import limits
from engagements.evidence.readers.errors import EvidenceError

_ROWS = 20_000
_OPCODES = 100_000
# The actions of a SELECT over plain tables; others are denied.
_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION})
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 16 * limits.MIB,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 64 * limits.KIB,
    sqlite3.SQLITE_LIMIT_COLUMN: 500,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 50,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 5,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


class Database:
    """The plain tables and columns of a file, by upper-case names.

    `has_log` when newer pages may be in a separate write-ahead log.
    """

    def __init__(self, connection: sqlite3.Connection, *, has_log: bool = False) -> None:
        self._connection = connection
        self.has_log = has_log
        self.tables: dict[str, dict[str, str]] = {}
        named = self._select("SELECT name FROM sqlite_schema WHERE type = 'table'")
        # A view or a virtual table could run forever; only stored rows are read.
        for (name,) in list(named)[:2000]:
            if isinstance(name, str) and name.isidentifier():
                self.tables[name.upper()] = {}
        for name in self.tables:
            # Of (number, name, type, not null, default, key, hidden); computed columns are hidden.
            for column in self._select(f'PRAGMA table_xinfo("{name}")'):
                if column[6] == 0 and isinstance(column[1], str) and column[1].isidentifier():
                    self.tables[name][column[1].upper()] = column[1]

    def columns(self, table: str) -> dict[str, str]:
        """Return the columns of a table, none for a missing table."""
        return self.tables.get(table, {})

    def rows(self, table: str, *columns: str) -> Iterator[tuple[Any, ...]]:
        """Yield columns of every row; no rows for a missing table, NULL for a missing column."""
        known = self.columns(table)
        if table not in self.tables:
            return
        wanted = ", ".join(
            f'"{known[c.upper()]}"' if c.upper() in known else "NULL" for c in columns
        )
        # Names come from the schema and are identifiers, checked above.
        yield from self._select(f'SELECT {wanted} FROM "{table}"')  # noqa: S608

    def _select(self, statement: str) -> Iterator[tuple[Any, ...]]:
        try:
            cursor = self._connection.execute(statement)
            while rows := cursor.fetchmany(_ROWS):
                yield from rows
        except sqlite3.OperationalError as error:
            if "interrupted" in str(error):
                raise EvidenceError(
                    f"Reading this SQLite file took more than {limits.SQL_SECONDS:.0f} s; profile "
                    "fewer steps",
                    code="evidence.time_limit",
                ) from error
            raise EvidenceError(
                f"Invalid SQLite file: {error}", code="evidence.sqlite_invalid"
            ) from error
        except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
            raise EvidenceError(
                f"Invalid SQLite file: {error}", code="evidence.sqlite_invalid"
            ) from error


@contextmanager
def connected(path: Path) -> Iterator[Database]:
    """Open a file. EvidenceError when it is invalid or exceeds the time limit."""
    place = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
    connection = sqlite3.connect(place, uri=True, isolation_level=None)
    try:
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "query_only=ON", "mmap_size=0"):
            connection.execute(f"PRAGMA {pragma}")
        connection.set_authorizer(_authorised)
        until = time.monotonic() + limits.SQL_SECONDS
        connection.set_progress_handler(lambda: time.monotonic() > until, _OPCODES)
        yield Database(connection, has_log=_has_log(path))
    except sqlite3.Error as error:
        raise EvidenceError(
            f"Invalid SQLite file: {error}", code="evidence.sqlite_invalid"
        ) from error
    finally:
        connection.close()


def _has_log(path: Path) -> bool:
    """Return whether the header's write version is that of a write-ahead log."""
    with path.open("rb") as file:
        return file.read(19)[18:] == b"\x02"


def _authorised(
    action: int, first: str | None, second: str | None, database: str | None, trigger: str | None
) -> int:
    is_schema = action == sqlite3.SQLITE_PRAGMA and first == "table_xinfo"
    return sqlite3.SQLITE_OK if action in _ALLOWED or is_schema else sqlite3.SQLITE_DENY
