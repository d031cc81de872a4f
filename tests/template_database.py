"""A migrated template database that every process of a session copies.

Applying the migrations takes as long as dozens of tests. The template stays in the embedded
server until a migration changes.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import psycopg
from django import apps
from django.conf import settings
from django.db.migrations.loader import MigrationLoader

from consultancy.embedded.postgres import Postgres

_PREFIX = "migrated_"
_ROOT = Path(__file__).parent.parent


def template(server: Postgres) -> str:
    """Return the name of the template database; create it if it is missing."""
    name = _PREFIX + _digest()
    with (
        server.place.lock("migrated"),
        psycopg.connect(server.url("postgres"), autocommit=True) as connection,
    ):
        found = connection.execute(
            "SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [_PREFIX]
        ).fetchall()
        if (name,) not in found:
            for (outdated,) in found:
                connection.execute(f'DROP DATABASE "{outdated}" WITH (FORCE)')
            unfinished = f"{name}_unfinished"
            connection.execute(f'CREATE DATABASE "{unfinished}"')
            _migrate(server.url(unfinished))
            connection.execute(f'ALTER DATABASE "{unfinished}" RENAME TO "{name}"')
    return name


def _migrate(url: str) -> None:
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
        cwd=_ROOT,
        env=os.environ | {"DATABASE_URL": url},
        check=True,
    )


def _digest() -> str:
    """The digest of every application's migrations, and of what they import."""
    story = hashlib.sha256()
    for application in apps.apps.get_app_configs():
        name, _ = MigrationLoader.migrations_module(application.label)
        found = find_spec(name) if name else None
        for folder in (found and found.submodule_search_locations) or ():
            for file in sorted(Path(folder).glob("*.py")):
                story.update(f"{application.label}/{file.name}\0".encode() + file.read_bytes())
    for module in ("benchmarks/triggers.py", "engagements/billing/balance_view.py"):
        story.update((_ROOT / module).read_bytes())
    story.update(repr(settings.INSTALLED_APPS).encode())
    return story.hexdigest()[:16]
