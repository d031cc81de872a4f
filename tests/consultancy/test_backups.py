"""`manage.py backup` and `restore`: one consistent set, proven by restoring it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyrage
import pytest
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.db import connection

from benchmarks.models import Record
from consultancy.backups import archive, integrity, programs, restoring
from consultancy.backups.errors import BackupError
from engagements import documents
from tests.engagements import story
from tests.engagements.document_story import unrendered
from tests.engagements.proofs.volume import without_triggers

KEY = pyrage.x25519.Identity.generate()


@pytest.fixture
def house(transactional_db: None) -> story.Story:
    """A committed engagement whose target was missed, with its documents and record."""
    missed = story.missed()
    with unrendered():
        documents.issue(kind="contract", subject=f"contract:{missed.contract.pk}:accepted")
    return missed


@pytest.fixture
def other_host(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of an empty installation: its own database and folder of files."""
    with programs.scratch_database() as database:
        yield {
            **os.environ,
            "DATABASE_URL": programs.url(database),
            "TWOFOLD_HOME": str(tmp_path / "home"),
            "TWOFOLD_RECORDS_FOLDER": str(tmp_path / "records"),
        }


def manage(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def code_of(action: object, *arguments: object, **options: object) -> str:
    with pytest.raises(BackupError) as caught:
        action(*arguments, **options)  # type: ignore[operator]
    return caught.value.code


def test_an_encrypted_backup_restores_everything_on_an_empty_host(
    house: story.Story, other_host: dict[str, str], tmp_path: Path
) -> None:
    file, secret = tmp_path / "backup", tmp_path / "secret"
    secret.write_text(f"# created today\n{KEY}\n")
    manifest = archive.write(file, recipients=[str(KEY.to_public())])
    assert file.read_bytes().startswith(archive.AGE_HEADER)
    assert file.stat().st_mode & 0o077 == 0
    assert manifest.file_count == Record.objects.count() > 0

    restored = manage(other_host, "restore", str(file), "--identity", str(secret))
    assert restored.returncode == 0, restored.stderr
    here = {part.name: part.count for part in integrity.check()}
    assert min(here.values()) > 0
    report = [f"{name}: {count} checked, intact" for name, count in here.items()]
    assert set(report) <= set(restored.stdout.splitlines())


def test_only_an_empty_database_is_restored_into(house: story.Story, tmp_path: Path) -> None:
    assert code_of(restoring.restore, tmp_path / "backup") == "restore.not_empty"


def test_a_backup_of_altered_data_is_not_verified_and_leaves_no_database(
    house: story.Story, tmp_path: Path
) -> None:
    with without_triggers(), connection.cursor() as cursor:
        cursor.execute("UPDATE engagements_document SET content = content || '\\x00'")
    archive.write(tmp_path / "backup")
    assert code_of(restoring.verify, tmp_path / "backup") == "backup.not_intact"
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_database WHERE datname LIKE 'twofold_scratch%'")
        assert cursor.fetchone() == (0,)


def test_a_damaged_backup_is_recognised(house: story.Story, tmp_path: Path) -> None:
    file, folder = tmp_path / "backup", tmp_path / "folder"
    archive.write(file)
    whole = file.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:-9], b"", b"no backup", os.urandom(2000)):
        file.write_bytes(damaged)
        assert code_of(archive.extract, file, folder) == "backup.unreadable"
    file.write_bytes(bytes(byte ^ (i == 5000) for i, byte in enumerate(whole)))
    assert code_of(archive.extract, file, folder) in ("backup.unreadable", "backup.altered")

    archive.write(file.with_name("secret"), recipients=[str(KEY.to_public())])
    sealed = file.with_name("secret")
    assert code_of(archive.extract, sealed, folder) == "backup.encrypted"
    other = str(pyrage.x25519.Identity.generate())
    assert code_of(archive.extract, sealed, folder, identities=[other]) == "backup.decrypt"


def test_a_missing_file_stops_the_backup_and_leaves_none(
    house: story.Story, tmp_path: Path
) -> None:
    record = Record.objects.get()
    name = str(record.file.name)
    content = storages["records"].open(name).read()
    storages["records"].delete(name)
    assert code_of(archive.write, tmp_path / "backup") == "backup.file_missing"
    assert list(tmp_path.iterdir()) == []
    assert [len(part.faults) for part in integrity.check()] == [0, 0, 0, 1]
    storages["records"].save(name, ContentFile(content))


def test_no_backup_is_overwritten_while_another_is_written(
    house: story.Story, tmp_path: Path
) -> None:
    (tmp_path / "backup.unfinished").touch()
    assert code_of(archive.write, tmp_path / "backup") == "backup.write"
    assert code_of(archive.write, tmp_path / "other", recipients=["age1x"]) == "backup.recipient"
