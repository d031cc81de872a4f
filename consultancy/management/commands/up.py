"""`manage.py up`: web, workers and beat in one terminal."""

import os
import signal
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from honcho.manager import Manager

from benchmarks.errors import Refused
from benchmarks.harness.records.signatures import KeyUnusable
from consultancy import signing
from consultancy.embedded.place import EmbeddedError, Place
from consultancy.embedded.services import running
from consultancy.processes import commands, end_leftovers, environment, port_taken


class Command(BaseCommand):
    """Serves the site until Ctrl-C, then ends everything it started."""

    help = "Run web, a worker for gpu, one for documents, and beat; Ctrl-C ends them all."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to listen."""
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument("--port", type=int, default=8000, help="port to listen on")
        parser.add_argument("--no-web", action="store_true", help="workers and beat alone")

    def handle(self, *, host: str, port: int, no_web: bool, **options: Any) -> None:
        """Migrate, run everything, and leave with the first failure's code."""
        home = settings.TWOFOLD_HOME
        try:
            with Place(home).lock("up", wait_s=0):
                end_leftovers(home)
                if not no_web and (reason := port_taken(host, port)):
                    raise CommandError(
                        f"Cannot listen on {host}:{port}: {reason}. "
                        f"Choose another port: manage.py up --port {port + 1}"
                    )
                with running():
                    code = self._serve(host, port, web=not no_web)
        except EmbeddedError as error:
            raise CommandError(str(error)) from error
        # A Ctrl-C is how this ends when all is well.
        if code not in (0, 128 + signal.SIGINT, 128 + signal.SIGTERM):
            raise CommandError(f"A process ended by itself with code {code}.", returncode=1)

    def _serve(self, host: str, port: int, *, web: bool) -> int:
        home = settings.TWOFOLD_HOME
        call_command("migrate", interactive=False, verbosity=0)
        key = self._key()
        connections.close_all()
        manager = Manager()
        for name, command in commands(host=host, port=port).items():
            if name == "web" and not web:
                continue
            variables = environment(
                home, port=port if web else None, signing_key=key if name == "gpu" else None
            )
            manager.add_process(name, command, env=variables, cwd=str(settings.BASE_DIR))
        # A closed terminal ends them too.
        signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
        if web:
            self.stdout.write(f"Twofold is at http://{host}:{port}/ (Ctrl-C ends it)")
        sys.stdout.flush()
        try:
            manager.loop()
        finally:
            end_leftovers(home)
        return manager.returncode or 0

    def _key(self) -> Path | None:
        """What the worker signs records with; in production its own environment names it."""
        if settings.PRODUCTION:
            return None
        try:
            return signing.have_one()
        except (Refused, KeyUnusable) as error:
            raise CommandError(f"Records could not be signed: {error}") from error
