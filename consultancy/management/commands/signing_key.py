"""`manage.py signing_key create|add|retire|revoke|list`: manage the keys that sign records."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from benchmarks.errors import BenchmarkError
from benchmarks.models import SigningKey
from benchmarks.records.signatures import KeyUnusable
from benchmarks.services import keys
from consultancy import signing


class Command(BaseCommand):
    help = (
        "Create a signing key for this machine, or register, retire, revoke and list public keys."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="create a key and register its public key")
        create.add_argument("--file", type=Path, help="file for the private key")
        create.add_argument("--name", help="machine or worker that holds the private key")
        add = actions.add_parser("add", help="register a public key created elsewhere")
        add.add_argument("file", type=Path, help="output of `keygen`")
        add.add_argument(
            "--name", required=True, help="machine or worker that holds the private key"
        )
        retire = actions.add_parser("retire", help="accept no further record; its records stay")
        retire.add_argument("key_id")
        revoke = actions.add_parser("revoke", help="the key may have leaked: review its records")
        revoke.add_argument("key_id")
        actions.add_parser("list", help="list all keys, newest first")

    def handle(self, *, action: str, **options: Any) -> None:
        try:
            getattr(self, f"_{action}")(options)
        except (BenchmarkError, KeyUnusable) as error:
            raise CommandError(str(error)) from error

    def _create(self, options: dict[str, Any]) -> None:
        file = options["file"] or signing.key_file()
        key = signing.create(file=file, name=options["name"] or signing.terminal_user())
        self.stdout.write(f"Created key {key.key_id} ({key.name}), private key in {file}")

    def _add(self, options: dict[str, Any]) -> None:
        try:
            text = options["file"].read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"Cannot read {options['file']}: {error}") from error
        key = keys.add(public_key=text, name=options["name"], by=signing.terminal_user())
        self.stdout.write(f"Registered key {key.key_id} ({key.name})")

    def _retire(self, options: dict[str, Any]) -> None:
        key = keys.retire(key_id=options["key_id"], by=signing.terminal_user())
        self.stdout.write(f"Retired key {key.key_id} ({key.name})")

    def _revoke(self, options: dict[str, Any]) -> None:
        key = keys.revoke(key_id=options["key_id"], by=signing.terminal_user())
        self.stdout.write(f"Revoked key {key.key_id} ({key.name})")

    def _list(self, options: dict[str, Any]) -> None:
        for key in SigningKey.objects.all():
            state = f", retired {key.retired_at:%Y-%m-%d}" if key.retired_at else ""
            state += f", revoked {key.revoked_at:%Y-%m-%d}" if key.revoked_at else ""
            self.stdout.write(f"{key.key_id}  {key.name}, added {key.added_at:%Y-%m-%d}{state}")
