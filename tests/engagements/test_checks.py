"""A database that is half way through migrations which are one now is told what to do."""

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from engagements.checks import no_database_is_half_way

pytestmark = pytest.mark.django_db


def _older() -> list[str]:
    """What the migrations stand for, in the order in which it was applied."""
    loader = MigrationLoader(None, load=False)
    loader.load_disk()
    return sorted(
        name
        for migration in loader.disk_migrations.values()
        for app, name in migration.replaces
        if app == "engagements"
    )


def _stands_at(older: list[str]) -> None:
    """Of the migrations of engagements only these were applied, the last of them newest."""
    recorder = MigrationRecorder(connection)
    recorder.migration_qs.filter(app="engagements").delete()
    for name in older:
        recorder.record_applied("engagements", name)


def _found() -> list[str]:
    return [said.msg for said in no_database_is_half_way(databases=["default"])]


def test_every_older_migration_is_stood_for_once() -> None:
    older = _older()
    assert [name[:4] for name in older] == [f"{number:04}" for number in range(1, 32)]


@pytest.mark.parametrize("applied", [1, 5, 16, 28, 29])
def test_a_database_half_way_is_told_where_it_stands(applied: int) -> None:
    _stands_at(_older()[:applied])
    (said,) = _found()
    assert f"engagements.{_older()[applied - 1]}," in said


def test_every_end_but_the_last_two_is_half_way() -> None:
    """The view alone is missing in a database at 0030: it is made by the migration that has it."""
    whole = []
    for applied in range(32):
        _stands_at(_older()[:applied])
        if not _found():
            whole.append(applied)
    assert whole == [0, 30, 31]


def test_migrate_says_which_commit_leads_on() -> None:
    _stands_at(_older()[:20])
    with pytest.raises(SystemCheckError) as refused:
        call_command("migrate", skip_checks=False)
    assert "stands at engagements.0020_no_more_goes_back" in str(refused.value)
    assert "commit 2f54c3d" in str(refused.value)


def test_a_database_that_was_migrated_by_these_is_whole() -> None:
    assert _found() == []
