"""`manage.py services start|stop|status`: the embedded PostgreSQL and Valkey by hand."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from consultancy.embedded.place import EmbeddedError
from consultancy.embedded.services import services


class Command(BaseCommand):
    """Starts, stops or shows the embedded services."""

    help = "Start, stop or show the embedded PostgreSQL and Valkey."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """One word: what to do."""
        parser.add_argument("action", choices=("start", "stop", "status"))

    def handle(self, *, action: str, **options: Any) -> None:
        """Say a line for each service."""
        embedded = services()
        for name in ("postgres", "valkey"):
            if name not in embedded:
                self.stdout.write(f"{name}: not embedded, its address is given")
        for name, service in embedded.items():
            try:
                if action == "start":
                    said = "started" if service.start() else "was running"
                elif action == "stop":
                    said = "stopped" if service.stop() else "was not running"
                else:
                    said = "running" if service.ready() else "not running"
            except EmbeddedError as error:
                raise CommandError(str(error)) from error
            self.stdout.write(f"{name}: {said}")
