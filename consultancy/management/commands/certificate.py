"""`manage.py certificate FILE`: make the certificate that contracts are signed with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from engagements.documents import certificate


class Command(BaseCommand):
    help = (
        "Make a key and a certificate of the consultancy's own, in FILE. Readers of a contract "
        "are shown who signed; to have them trust it unasked, get one issued by an authority "
        "for signing documents instead."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")

    def handle(self, *_: Any, file: Path, **__: Any) -> None:
        if file.exists():
            raise CommandError(f"{file} is there already, and is not written over.")
        certificate.make(file)
        self.stdout.write(f"{file} is made. TWOFOLD_CERTIFICATE_FILE={file.absolute()}")
