"""`manage.py signing_key create|add|revoke|list`: whose signatures under records are believed."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from benchmarks.errors import Refused
from benchmarks.harness.records.signatures import KeyUnusable
from benchmarks.models import SigningKey
from benchmarks.services import keys
from consultancy import signing


class Command(BaseCommand):
    """Makes, registers, revokes and lists the referees' keys."""

    help = "Make a signing key for this machine, or register, revoke and list public keys."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """One word, and what belongs to it."""
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="make a key here and register its public half")
        create.add_argument("--file", type=Path, help="where the private half goes")
        create.add_argument("--name", help="the machine or worker that holds it")
        add = actions.add_parser("add", help="register a public key that was made elsewhere")
        add.add_argument("file", type=Path, help="what `keygen` printed")
        add.add_argument("--name", required=True, help="the machine or worker that holds it")
        revoke = actions.add_parser("revoke", help="believe no more records that this key signs")
        revoke.add_argument("key_id")
        actions.add_parser("list", help="every key, newest first")

    def handle(self, *, action: str, **options: Any) -> None:
        """Do it, or say in a sentence why not."""
        try:
            getattr(self, f"_{action}")(options)
        except (Refused, KeyUnusable) as refused:
            raise CommandError(str(refused)) from refused

    def _create(self, options: dict[str, Any]) -> None:
        file = options["file"] or signing.key_file()
        key = signing.create(file=file, name=options["name"] or signing.person())
        self.stdout.write(f"key {key.key_id} ({key.name}), private half in {file}")

    def _add(self, options: dict[str, Any]) -> None:
        try:
            text = options["file"].read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"Cannot read {options['file']}: {error}") from error
        key = keys.add(public_key=text, name=options["name"], by=signing.person())
        self.stdout.write(f"key {key.key_id} ({key.name})")

    def _revoke(self, options: dict[str, Any]) -> None:
        key = keys.revoke(key_id=options["key_id"], by=signing.person())
        self.stdout.write(f"key {key.key_id} ({key.name}) is revoked")

    def _list(self, options: dict[str, Any]) -> None:
        for key in SigningKey.objects.all():
            state = f", revoked {key.revoked_at:%Y-%m-%d}" if key.revoked_at else ""
            self.stdout.write(f"{key.key_id}  {key.name}, added {key.added_at:%Y-%m-%d}{state}")
