"""Where the demonstration plays: a home of its own, made new each time, and its processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management.base import CommandError

from consultancy.embedded.place import Place
from consultancy.embedded.postgres import Postgres
from consultancy.embedded.valkey import Valkey

# What would lead the demonstration to somebody's real data.
REAL = ("DATABASE_URL", "BROKER_URL", "TWOFOLD_RECORDS_BUCKET")
STOP_SECONDS = 30


def enter(*, home: Path, command: list[str]) -> None:
    """Start this command again in the demonstration's own home. Does not return."""
    environment = {name: value for name, value in os.environ.items() if name not in REAL}
    environment |= {"TWOFOLD_HOME": str(home), "TWOFOLD_DEMO": "1"}
    sys.stdout.flush()
    # In place of this process, so that Ctrl-C and exit codes need no go-between.
    os.execve(sys.executable, [sys.executable, *command], environment)  # noqa: S606


def clear(home: Path) -> None:
    """Throw away what an earlier demonstration left: its servers first, then its files.

    CommandError when `home` holds something that no demonstration made.
    """
    marker = home / ".demonstration"
    if home.exists() and any(home.iterdir()) and not marker.exists():
        raise CommandError(
            f"{home} was not made by a demonstration, so it is left alone. "
            "Set TWOFOLD_HOME to another folder, or unset it."
        )
    if home.exists():
        place = Place(home)
        Valkey(place).stop()
        Postgres(place).stop()
        shutil.rmtree(home)
    home.mkdir(parents=True)
    marker.write_text("Made by manage.py demo and removed by the next one.\n")


@contextmanager
def running(*, home: Path, manage: Path, port: int | None) -> Iterator[subprocess.Popen[bytes]]:
    """The site's processes (without the web one when `port` is None), logging to a file."""
    arguments = ["--no-web"] if port is None else ["--port", str(port)]
    with (home / "processes.log").open("wb") as log:
        processes = subprocess.Popen(
            [sys.executable, str(manage), "up", *arguments],
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        try:
            yield processes
        finally:
            processes.terminate()
            try:
                processes.wait(timeout=STOP_SECONDS)
            except subprocess.TimeoutExpired:
                processes.kill()
                processes.wait()
