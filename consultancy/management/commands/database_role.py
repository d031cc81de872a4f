"""`manage.py database_role NAME`: print or create the database role of the site."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection, transaction

from consultancy import database_role


class Command(BaseCommand):
    help = "Print (or, with --apply, run) the SQL that creates the database role of the site."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the role to create")
        parser.add_argument(
            "--apply", action="store_true", help="run the statements, as the owner of the tables"
        )
        parser.add_argument(
            "--password-file", type=Path, help="file with the role's password in its first line"
        )

    def handle(self, *, name: str, apply: bool, password_file: Path | None, **options: Any) -> None:
        # A role cannot revoke its own rights.
        if name == connection.settings_dict["USER"]:
            raise CommandError(f"This command is connected as {name}. Name another role.")
        try:
            password = password_file.read_text().splitlines()[0] if password_file else None
        except (OSError, IndexError) as error:
            raise CommandError(f"{password_file} contains no password.") from error
        statements = list(database_role.statements(name, password=password))
        if not apply:
            self.stdout.write("".join(f"{statement};\n" for statement in statements))
            return
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
        except DatabaseError as error:
            raise CommandError(f"Could not create {name}: {error}") from error
        self.stdout.write(f"{name}: ran {len(statements)} statements")
