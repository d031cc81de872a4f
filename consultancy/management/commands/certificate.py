"""`manage.py certificate FILE`: create a self-signed certificate for contracts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from engagements.documents import certificate


class Command(BaseCommand):
    help = (
        "Create a private key and a self-signed certificate in FILE. PDF readers show the signer "
        "but trust the signature only if a certificate authority issued the certificate."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")

    def handle(self, *_: Any, file: Path, **__: Any) -> None:
        if file.exists():
            raise CommandError(f"{file} already exists. Choose another file.")
        certificate.make(file)
        self.stdout.write(f"Created {file}. Set TWOFOLD_CERTIFICATE_FILE={file.absolute()}")
