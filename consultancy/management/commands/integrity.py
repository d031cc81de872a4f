"""`manage.py integrity`: prove that the data is complete and unaltered."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from consultancy.backups import integrity


class Command(BaseCommand):
    help = "Verify events, ledger, documents and stored files. Exits with 1 if anything differs."

    def handle(self, **options: Any) -> None:
        parts = integrity.check()
        for part in parts:
            for fault in part.faults:
                self.stderr.write(f"{part.name}: {fault}")
            outcome = f"{len(part.faults)} faults" if part.faults else "intact"
            self.stdout.write(f"{part.name}: {part.count} checked, {outcome}")
        if any(part.faults for part in parts):
            raise CommandError("The data is not intact.")
