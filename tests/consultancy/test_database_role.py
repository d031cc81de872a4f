"""`manage.py database_role` prints the SQL of the site's role, or runs it."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

ROLE = f"twofold_test_{os.getpid()}"


def output_of(*arguments: str) -> str:
    out = io.StringIO()
    call_command("database_role", *arguments, stdout=out)
    return out.getvalue()


def privileges(table: str) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT privilege_type FROM information_schema.role_table_grants "
            "WHERE grantee = %s AND table_name = %s",
            [ROLE, table],
        )
        return {name for (name,) in cursor.fetchall()}


def exists() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE])
        return cursor.fetchone() is not None


def test_it_prints_the_statements_and_runs_none(db: None) -> None:
    printed = output_of(ROLE)
    assert f'CREATE ROLE "{ROLE}" LOGIN;' in printed.splitlines()
    assert f'GRANT SELECT, INSERT ON "engagements_event" TO "{ROLE}";' in printed.splitlines()
    assert "TRUNCATE" not in printed
    assert not exists()


def test_it_creates_the_role_with_its_password_and_rights(db: None, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("it's; a secret\n")
    assert output_of(ROLE, "--apply", "--password-file", str(file)).startswith(f"{ROLE}: ")
    assert exists()
    assert privileges("engagements_leg") == {"SELECT", "INSERT"}
    assert privileges("engagements_eventchain") == {"SELECT"}
    assert privileges("engagements_invoicebalance") == {"SELECT"}
    assert privileges("engagements_engagement") == {"SELECT", "INSERT", "UPDATE", "DELETE"}


def test_it_rejects_the_role_that_it_is_connected_as(db: None) -> None:
    with pytest.raises(CommandError, match=str(connection.settings_dict["USER"])):
        output_of(str(connection.settings_dict["USER"]))


def test_it_rejects_a_file_without_a_password(db: None, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for name in ("empty", "missing"):
        with pytest.raises(CommandError, match=name):
            output_of(ROLE, "--password-file", str(tmp_path / name))
    assert not exists()
