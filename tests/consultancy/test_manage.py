"""What the command line says before any command of this project has its turn."""

from collections.abc import Sequence

import pytest
from django.db import ProgrammingError, connection

import manage

pytestmark = pytest.mark.django_db


def _asking(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command asks the database this."""

    def command(arguments: Sequence[str]) -> None:
        with connection.cursor() as cursor:
            cursor.execute(query)

    monkeypatch.setattr("django.core.management.execute_from_command_line", command)


def test_a_database_without_tables_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    _asking("SELECT * FROM nothing_migrated", monkeypatch)
    with pytest.raises(SystemExit) as ended:
        manage.main()
    told = str(ended.value)
    assert told.startswith('relation "nothing_migrated" does not exist: ')
    assert "manage.py migrate" in told
    assert "\n" not in told


def test_another_mistake_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    _asking("SELEKT 1", monkeypatch)
    with pytest.raises(ProgrammingError):
        manage.main()
