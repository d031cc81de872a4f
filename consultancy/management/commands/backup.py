"""`manage.py backup FILE`: write database and stored files to one file, and verify it."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from consultancy.backups import archive, restoring
from consultancy.backups.errors import BackupError


class Command(BaseCommand):
    help = "Write the database and all stored files to one file, then verify it by restoring."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--recipient",
            action="append",
            default=[],
            metavar="KEY",
            help="encrypt to this age or SSH public key; may be repeated",
        )
        parser.add_argument(
            "--identity",
            type=Path,
            metavar="FILE",
            help="age secret key, with which an encrypted backup is verified",
        )

    def handle(self, *, file: Path, recipient: list[str], **options: Any) -> None:
        identity: Path | None = options["identity"]
        try:
            identities = archive.read_identities(identity) if identity else []
            manifest = archive.write(file, recipients=recipient)
            self.stdout.write(
                f"{file}: {file.stat().st_size:,} bytes, {manifest.file_count} stored files"
            )
            if recipient and not identities:
                self.stdout.write(
                    "Not verified, because no secret key is here. Where it is, run: "
                    f"manage.py restore {file} --verify --identity FILE"
                )
                return
            _, report = restoring.verify(file, identities=identities)
        except BackupError as error:
            raise CommandError(error.message) from error
        self.stdout.write(f"Restored into a scratch database and verified:\n{report.rstrip()}")
