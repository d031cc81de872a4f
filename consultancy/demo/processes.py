"""The demonstration's own home folder, emptied for each run, and its processes."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management.base import CommandError

from consultancy import processes as up
from consultancy.embedded.place import Place
from consultancy.embedded.postgres import Postgres
from consultancy.embedded.valkey import Valkey

# Variables that would connect the demonstration to real data.
REAL_DATA = ("DATABASE_URL", "BROKER_URL", "TWOFOLD_RECORDS_BUCKET")
STOP_SECONDS = 30
HOST = "127.0.0.1"


def restart_in(home: Path, *, port: int, command: list[str]) -> None:
    """Replace this process by the same command with `home` as TWOFOLD_HOME. Does not return.

    `port` is that of the site, for the links in mails.
    """
    environment = {name: value for name, value in os.environ.items() if name not in REAL_DATA}
    environment |= {"TWOFOLD_HOME": str(home), "TWOFOLD_DEMO": "1", up.PORT_VARIABLE: str(port)}
    # Mails become files, which a page of the demonstration shows.
    environment["EMAIL_URL"] = mail_url(home)
    sys.stdout.flush()
    # Replacing the process passes Ctrl-C and exit codes through unchanged.
    os.execve(sys.executable, [sys.executable, *command], environment)  # noqa: S606


def mail_url(home: Path) -> str:
    """The EMAIL_URL that keeps mails as files in `home`."""
    return f"filemail:///{home.resolve() / 'mails'}"


def reset_home(home: Path) -> None:
    """Stop an earlier demonstration's servers and delete its files.

    CommandError when `home` holds files that no demonstration created.
    """
    marker = home / ".demonstration"
    if home.exists() and any(home.iterdir()) and not marker.exists():
        raise CommandError(
            f"{home} was not created by a demonstration and will not be deleted. "
            "Set TWOFOLD_HOME to another folder, or unset it."
        )
    if home.exists():
        place = Place(home)
        Valkey(place).stop()
        Postgres(place).stop()
        shutil.rmtree(home)
    home.mkdir(parents=True)
    marker.write_text("Created by manage.py demo and deleted by its next run.\n")


@contextmanager
def web_process(*, home: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Serve the site, logging to `web.log` in `home`: it imports while the database starts.

    CommandError when the port is taken.
    """
    owner = home / "web"
    up.kill_orphans(owner)
    if reason := up.bind_error(HOST, port):
        raise CommandError(
            f"Cannot listen on {HOST}:{port}: {reason}. "
            f"Choose another port: make demo ARGS='--port {port + 1}'"
        )
    command = shlex.split(up.commands(host=HOST, port=port)["web"].removeprefix("exec "))
    environment = up.environment(owner, port=port)
    with _process(command, log=home / "web.log", environment=environment) as web:
        yield web


@contextmanager
def worker_processes(
    *, home: Path, manage: Path, port: int | None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run workers and beat, logging to `processes.log` in `home`; links in mails name `port`."""
    command = [sys.executable, str(manage), "up", "--no-web"]
    served = {} if port is None else {up.PORT_VARIABLE: str(port)}
    environment = os.environ | served
    with _process(command, log=home / "processes.log", environment=environment) as processes:
        yield processes


@contextmanager
def _process(
    command: list[str], *, log: Path, environment: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(timeout=STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
