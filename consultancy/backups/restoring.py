"""Restore a backup into an empty installation, or into a scratch database to verify it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import storages

from consultancy.backups import archive, programs
from consultancy.backups.errors import BackupError


def restore(source: Path, *, identities: Sequence[str] = ()) -> archive.Manifest:
    """Restore database and files from `source` into this installation. Raises BackupError.

    The database must be empty. Files come first, then the database in one transaction, so an
    interrupted restore is repeated from the start. Files that are there already must be the same.
    """
    if programs.table_count():
        raise BackupError(
            "The database is not empty. Restore into a new one.", code="restore.not_empty"
        )
    with tempfile.TemporaryDirectory(prefix="twofold-restore-") as name:
        folder = Path(name)
        manifest = archive.extract(source, folder, identities=identities)
        for member, digest in manifest.members.items():
            if member.startswith(archive.FILES):
                _store(folder / member, member.removeprefix(archive.FILES), digest)
        programs.load(folder / archive.DATABASE)
    return manifest


def verify(source: Path, *, identities: Sequence[str] = ()) -> tuple[archive.Manifest, str]:
    """Restore `source` into a scratch database and folder, prove it, and delete both again.

    Returns the manifest and the report of `manage.py integrity`. Raises BackupError.
    """
    with (
        tempfile.TemporaryDirectory(prefix="twofold-verify-") as name,
        programs.scratch_database() as database,
    ):
        folder = Path(name)
        manifest = archive.extract(source, folder, identities=identities)
        programs.load(folder / archive.DATABASE, database=database)
        report = _prove(database, folder / archive.FILES)
    return manifest, report


def _store(source: Path, name: str, digest: str) -> None:
    storage = storages["records"]
    if storage.exists(name):
        with storage.open(name, "rb") as there:
            if archive.digest_of(there) == digest:
                return
        raise BackupError(
            f"The storage has another file {name}. Restore into an empty bucket or folder.",
            code="restore.file_differs",
        )
    with source.open("rb") as opened:
        saved = storage.save(name, File(opened))
    if saved != name:
        raise BackupError(
            f"The storage saved {name} as {saved}. Restore into an empty bucket or folder.",
            code="restore.file_differs",
        )


def _prove(database: str, files: Path) -> str:
    """Run `manage.py integrity` on the scratch database, in a process with its own settings."""
    environment = {
        **os.environ,
        "DATABASE_URL": programs.url(database),
        "TWOFOLD_RECORDS_FOLDER": str(files),
        "TWOFOLD_RECORDS_BUCKET": "",
    }
    finished = subprocess.run(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), "integrity"],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode != 0:
        raise BackupError(
            f"The restored data is not intact:\n{finished.stdout}{finished.stderr}",
            code="backup.not_intact",
        )
    return finished.stdout
