"""`manage.py up` serves the site, and leaves no process behind."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.core.management import CommandError, call_command

from consultancy.embedded.place import Place
from consultancy.embedded.postgres import Postgres
from consultancy.embedded.valkey import Valkey
from consultancy.processes import OWNER_VARIABLE, kill_orphans
from tests.consultancy.settings_loader import ROOT

LIMIT_S = 60.0
PROCESSES = {"web", "gpu", "documents", "beat"}


@pytest.fixture
def home() -> Iterator[Path]:
    """A home with a path short enough for sockets and open to the database's user."""
    folder = Path(tempfile.mkdtemp(prefix="twofold-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    kill_orphans(folder)
    stop_servers(folder)
    shutil.rmtree(folder)


def stop_servers(home: Path) -> None:
    Postgres(Place(home)).stop()
    Valkey(Place(home)).stop()


@pytest.fixture
def port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
    return number


def up(home: Path, port: int) -> subprocess.Popen[str]:
    """Start `manage.py up` with embedded services in this home."""
    configured = ("DATABASE_URL", "BROKER_URL")
    variables = {name: text for name, text in os.environ.items() if name not in configured}
    return subprocess.Popen(
        [sys.executable, "manage.py", "up", "--port", str(port)],
        cwd=ROOT,
        env=variables | {"TWOFOLD_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def children(home: Path) -> list[psutil.Process]:
    """Every process that `up` started in this home."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(OWNER_VARIABLE) == str(home):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def wait_for_health(process: subprocess.Popen[str], port: int) -> None:
    """Wait until /healthz counts both workers."""
    deadline = time.monotonic() + LIMIT_S
    health: dict[str, object] = {}
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise AssertionError(process.communicate()[0])
        try:
            address = f"http://127.0.0.1:{port}/healthz?workers"
            with urllib.request.urlopen(address, timeout=5) as response:
                health = json.loads(response.read())
        except (urllib.error.URLError, OSError):
            health = {}
        if health.get("workers") == {"gpu": 1, "documents": 1}:
            assert health["status"] == "ok"
            return
        time.sleep(0.2)
    raise AssertionError(f"Not healthy after {LIMIT_S:.0f} s: {health}")


@pytest.fixture
def orphan(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that a killed `up` of this home left behind."""
    with subprocess.Popen(["sleep", "600"], env={OWNER_VARIABLE: str(home)}) as process:
        yield process
        process.kill()


def test_it_kills_orphans_and_stops_everything_on_ctrl_c(
    home: Path, port: int, orphan: subprocess.Popen[bytes], settings: Any
) -> None:
    serving = up(home, port)
    assert orphan.wait(LIMIT_S) == -signal.SIGKILL
    wait_for_health(serving, port)
    # Mailed links need the port in every process, Celery's own children included.
    assert {each.environ().get("TWOFOLD_PORT") for each in children(home)} == {str(port)}

    settings.TWOFOLD_HOME = home
    with pytest.raises(CommandError, match=r"up\.lock"):
        call_command("up", port=port)

    serving.send_signal(signal.SIGINT)
    output, _ = serving.communicate(timeout=LIMIT_S)
    assert serving.returncode == 0, output
    assert {line.split()[1] for line in output.splitlines() if " | " in line} >= PROCESSES
    assert children(home) == []
    assert not Postgres(Place(home)).ready()
    assert not Valkey(Place(home)).ready()


def test_an_occupied_port_is_reported_in_one_line(home: Path, settings: Any) -> None:
    settings.TWOFOLD_HOME = home
    with socket.socket() as occupied:
        occupied.bind(("127.0.0.1", 0))
        occupied.listen()
        number = occupied.getsockname()[1]
        with pytest.raises(CommandError) as refused:
            call_command("up", port=number)
    assert f"127.0.0.1:{number}" in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
    assert not Postgres(Place(home)).ready()
