"""`manage.py services start|stop|status`: control the embedded PostgreSQL and Valkey."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from consultancy.embedded.place import EmbeddedError
from consultancy.embedded.services import services


class Command(BaseCommand):
    help = "Start or stop the embedded PostgreSQL and Valkey, or show their status."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=("start", "stop", "status"))

    def handle(self, *, action: str, **options: Any) -> None:
        embedded = services()
        for name in ("postgres", "valkey"):
            if name not in embedded:
                self.stdout.write(f"{name}: not embedded, configured by URL")
        for name, service in embedded.items():
            try:
                if action == "start":
                    state = "started" if service.start() else "already running"
                elif action == "stop":
                    state = "stopped" if service.stop() else "not running"
                else:
                    state = "running" if service.ready() else "not running"
            except EmbeddedError as error:
                raise CommandError(str(error)) from error
            self.stdout.write(f"{name}: {state}")
