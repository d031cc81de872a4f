"""The demonstration's own home folder, emptied for each run, and its processes."""

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

# Variables that would connect the demonstration to real data.
REAL_DATA = ("DATABASE_URL", "BROKER_URL", "TWOFOLD_RECORDS_BUCKET")
STOP_SECONDS = 30


def restart_in(home: Path, *, command: list[str]) -> None:
    """Replace this process by the same command with `home` as TWOFOLD_HOME. Does not return."""
    environment = {name: value for name, value in os.environ.items() if name not in REAL_DATA}
    environment |= {"TWOFOLD_HOME": str(home), "TWOFOLD_DEMO": "1"}
    sys.stdout.flush()
    # Replacing the process passes Ctrl-C and exit codes through unchanged.
    os.execve(sys.executable, [sys.executable, *command], environment)  # noqa: S606


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
def site_processes(
    *, home: Path, manage: Path, port: int | None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run the site (without web when `port` is None), logging to `processes.log` in `home`."""
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
