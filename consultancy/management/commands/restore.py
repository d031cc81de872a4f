"""`manage.py restore FILE`: restore a backup into an empty installation, or verify it."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from consultancy.backups import archive, restoring
from consultancy.backups.errors import BackupError


class Command(BaseCommand):
    help = "Restore a backup into an empty database and storage, or verify it without changes."
    # The database is still empty.
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--identity", type=Path, metavar="FILE", help="age secret key of an encrypted backup"
        )
        parser.add_argument(
            "--verify",
            action="store_true",
            help="restore into a scratch database, verify it there, and delete it again",
        )

    def handle(self, *, file: Path, verify: bool, **options: Any) -> None:
        identity: Path | None = options["identity"]
        try:
            identities = archive.read_identities(identity) if identity else []
            if verify:
                manifest, report = restoring.verify(file, identities=identities)
                self.stdout.write(f"The backup of {manifest.created_at} is intact:\n{report}")
                return
            manifest = restoring.restore(file, identities=identities)
        except BackupError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"Restored the backup of {manifest.created_at}.")
        call_command("integrity", stdout=self.stdout, stderr=self.stderr)
        self.stdout.write("Now run: manage.py migrate, and manage.py database_role for the site.")
