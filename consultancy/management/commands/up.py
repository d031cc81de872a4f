"""`manage.py up`: run web, workers and beat in one terminal."""

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

from benchmarks.errors import BenchmarkError
from benchmarks.records.signatures import KeyUnusable
from consultancy import signing
from consultancy.embedded.place import EmbeddedError, Place
from consultancy.embedded.services import running
from consultancy.processes import bind_error, commands, environment, kill_orphans


class Command(BaseCommand):
    help = "Run web, one gpu worker, one documents worker and beat until Ctrl-C."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
        parser.add_argument("--port", type=int, default=8000, help="port to listen on")
        parser.add_argument("--no-web", action="store_true", help="run workers and beat only")

    def handle(self, *, host: str, port: int, no_web: bool, **options: Any) -> None:
        home = settings.TWOFOLD_HOME
        try:
            with Place(home).lock("up", wait_s=0):
                kill_orphans(home)
                if not no_web and (reason := bind_error(host, port)):
                    raise CommandError(
                        f"Cannot listen on {host}:{port}: {reason}. "
                        f"Choose another port: manage.py up --port {port + 1}"
                    )
                with running():
                    code = self._serve(host, port, web=not no_web)
        except EmbeddedError as error:
            raise CommandError(str(error)) from error
        if code not in (0, 128 + signal.SIGINT, 128 + signal.SIGTERM):
            raise CommandError(
                f"A process exited with code {code}; see its log lines above.", returncode=1
            )

    def _serve(self, host: str, port: int, *, web: bool) -> int:
        home = settings.TWOFOLD_HOME
        call_command("migrate", interactive=False, verbosity=0)
        key = self._signing_key()
        connections.close_all()
        manager = Manager()
        for name, command in commands(host=host, port=port).items():
            if name == "web" and not web:
                continue
            variables = environment(
                home, port=port if web else None, signing_key=key if name == "gpu" else None
            )
            manager.add_process(name, command, env=variables, cwd=str(settings.BASE_DIR))
        # Stop when the terminal is closed, too.
        signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
        if web:
            self.stdout.write(f"Twofold runs at http://{host}:{port}/ (Ctrl-C stops it)")
        sys.stdout.flush()
        try:
            manager.loop()
        finally:
            kill_orphans(home)
        return manager.returncode or 0

    def _signing_key(self) -> Path | None:
        """The default signing key; None in production, where the environment names it."""
        if settings.PRODUCTION:
            return None
        try:
            return signing.ensure_key()
        except (BenchmarkError, KeyUnusable) as error:
            raise CommandError(f"The signing key is not usable: {error}") from error
