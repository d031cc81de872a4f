"""`manage.py up` serves the site, and leaves nothing running."""

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

import psutil
import pytest

from consultancy.embedded.place import Place
from consultancy.embedded.postgres import Postgres
from consultancy.embedded.valkey import Valkey
from consultancy.processes import MARK, end_leftovers
from tests.consultancy.starting import ROOT

LIMIT_S = 60.0


@pytest.fixture(scope="module")
def lasting_home() -> Iterator[Path]:
    """A home of their own, short enough for sockets and open for the database's user."""
    folder = Path(tempfile.mkdtemp(prefix="twofold-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def home(lasting_home: Path) -> Iterator[Path]:
    """Nothing runs there before or after; the first one makes the database, the others find it."""
    yield lasting_home
    end_leftovers(lasting_home)
    Postgres(Place(lasting_home)).stop()
    Valkey(Place(lasting_home)).stop()


@pytest.fixture
def port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
    return number


def up(home: Path, port: int) -> subprocess.Popen[str]:
    """Start `manage.py up` with embedded services in this home."""
    gone = ("DATABASE_URL", "BROKER_URL")
    variables = {name: text for name, text in os.environ.items() if name not in gone}
    return subprocess.Popen(
        [sys.executable, "manage.py", "up", "--port", str(port)],
        cwd=ROOT,
        env=variables | {"TWOFOLD_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def family(home: Path) -> list[psutil.Process]:
    """Every process that belongs to this home's terminal."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == str(home):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def wait_for_health(process: subprocess.Popen[str], port: int) -> dict[str, object]:
    """What /healthz says once web, both workers and their servers are there."""
    deadline = time.monotonic() + LIMIT_S
    said: dict[str, object] = {}
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise AssertionError(process.communicate()[0])
        try:
            address = f"http://127.0.0.1:{port}/healthz?workers"
            with urllib.request.urlopen(address, timeout=5) as answer:
                said = json.loads(answer.read())
        except (urllib.error.URLError, OSError):
            said = {}
        if said.get("workers") == {"gpu": 1, "documents": 1}:
            return said
        time.sleep(0.2)
    raise AssertionError(f"Not healthy after {LIMIT_S:.0f} s: {said}")


def test_it_serves_refuses_a_second_one_and_ctrl_c_ends_everything(home: Path, port: int) -> None:
    first = up(home, port)
    assert wait_for_health(first, port)["status"] == "ok"
    # Web and workers write mails, whose links lead here; what Celery forks for itself has it too.
    assert {each.environ().get("TWOFOLD_PORT") for each in family(home)} == {str(port)}

    second = up(home, port)
    assert second.wait(LIMIT_S) == 1
    assert "up.lock is locked" in second.communicate()[0]

    first.send_signal(signal.SIGINT)
    said, _ = first.communicate(timeout=LIMIT_S)
    assert first.returncode == 0, said
    for name in ("web", "gpu", "documents", "beat"):
        assert f"{name} " in said
    assert family(home) == []
    assert not Postgres(Place(home)).ready()
    assert not Valkey(Place(home)).ready()


def test_what_a_killed_one_left_behind_is_cleared_away(home: Path, port: int) -> None:
    killed = up(home, port)
    wait_for_health(killed, port)
    killed.kill()
    killed.wait()
    left = family(home)
    assert left != []

    following = up(home, port)
    _, alive = psutil.wait_procs(left, timeout=LIMIT_S)
    assert alive == []
    wait_for_health(following, port)
    following.send_signal(signal.SIGTERM)
    following.communicate(timeout=LIMIT_S)
    assert family(home) == []


def test_a_taken_port_is_said_in_one_line(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        refused = up(home, number)
        said, _ = refused.communicate(timeout=LIMIT_S)
    assert refused.returncode == 1
    assert f"Cannot listen on 127.0.0.1:{number}: Address already in use" in said
    assert len(said.strip().splitlines()) == 1
    assert not Postgres(Place(home)).ready()
