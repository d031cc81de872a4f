"""manage.py reports missing tables without a traceback."""

from collections.abc import Sequence

import pytest
from django.db import ProgrammingError, connection

import manage

pytestmark = pytest.mark.django_db


def _run_query(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every command run this query."""

    def command(arguments: Sequence[str]) -> None:
        with connection.cursor() as cursor:
            cursor.execute(query)

    monkeypatch.setattr("django.core.management.execute_from_command_line", command)


def test_a_missing_table_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    _run_query("SELECT * FROM nothing_migrated", monkeypatch)
    with pytest.raises(SystemExit) as ended:
        manage.main()
    message = str(ended.value)
    assert "nothing_migrated" in message
    assert "manage.py migrate" in message
    assert "\n" not in message


def test_another_error_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    _run_query("SELEKT 1", monkeypatch)
    with pytest.raises(ProgrammingError):
        manage.main()
