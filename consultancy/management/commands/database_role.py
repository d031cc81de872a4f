"""`manage.py database_role NAME`: the role that the site runs as, printed or made."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection, transaction

from consultancy import database_role


class Command(BaseCommand):
    """Prints the statements, or runs them as the owner of the tables."""

    help = "Print (or, with --apply, run) what makes the database role that the site runs as."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The role's name, and whether to make it."""
        parser.add_argument("name")
        parser.add_argument("--apply", action="store_true", help="run the statements, as the owner")
        parser.add_argument(
            "--password-file", type=Path, help="its first line becomes the role's password"
        )

    def handle(self, *, name: str, apply: bool, password_file: Path | None, **options: Any) -> None:
        """One statement a line. A role cannot take its own rights away: run it as the owner."""
        if name == connection.settings_dict["USER"]:
            raise CommandError(f"{name} is whom this command connects as: name another role.")
        try:
            password = password_file.read_text().splitlines()[0] if password_file else None
        except (OSError, IndexError) as error:
            raise CommandError(f"There is no password in {password_file}.") from error
        statements = list(database_role.statements(name, password=password))
        if not apply:
            self.stdout.write("".join(f"{statement};\n" for statement in statements))
            return
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
        except DatabaseError as error:
            raise CommandError(f"{name} could not be made: {error}") from error
        self.stdout.write(f"{name}: {len(statements)} statements run")
