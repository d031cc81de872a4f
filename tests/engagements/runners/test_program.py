"""A runner is a process without Django; killed and cut off, it loses no record and repeats none."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from benchmarks.models import Record, Run
from benchmarks.records import signatures
from engagements.runners import services
from engagements.runners.models import RunnerAttempt
from tests.benchmarks.conftest import FAKE_REFEREE
from tests.engagements.charts.measured import CPU
from tests.engagements.runners import bare_environment
from tests.engagements.runners.conftest import Machine, requested
from tests.engagements.world import World

LONE_RUNNER = Path(__file__).with_name("lone_runner.py")


class Network:
    """Carries connections to a site, unless it is down."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.is_up = True
        self._site = (str(parts.hostname), int(parts.port or 80))
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                if not self.is_up:
                    client.close()
                    continue
                site = socket.create_connection(self._site)
                for one, other in ((client, site), (site, client)):
                    threading.Thread(target=_pipe, args=(one, other), daemon=True).start()


def _pipe(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while chunk := one.recv(65536):
            other.sendall(chunk)
        other.shutdown(socket.SHUT_WR)


@pytest.fixture
def network(live_server: LiveServer) -> Iterator[Network]:
    made = Network(live_server.url)
    yield made
    made.close()


@pytest.fixture
def start(network: Network, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start a runner with the token and the key in `tmp_path`."""
    python = bare_environment.python_of(tmp_path / "environment")
    started: list[subprocess.Popen[bytes]] = []

    def begin(once: str = "on") -> subprocess.Popen[bytes]:
        files = [str(tmp_path / name) for name in ("token", "key", "state")]
        referee = [sys.executable, str(FAKE_REFEREE), f"measure={tmp_path / 'record'}"]
        with (tmp_path / "log").open("ab") as log:
            process = subprocess.Popen(
                [
                    str(python),
                    str(LONE_RUNNER),
                    network.url,
                    *files,
                    str(CPU["name"]),
                    once,
                    *referee,
                ],
                stdout=log,
                stderr=log,
            )
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()


def until(true: Callable[[], Any], log: Path, *, limit_s: float = 60) -> None:
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)


def referees(folder: Path) -> list[psutil.Process]:
    """The stand-ins that measure for this test."""
    waited_for, found = f"measure={folder / 'record'}", []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if waited_for in process.cmdline() and "watchdog" not in " ".join(process.cmdline()):
                found.append(process)
    return found


@pytest.mark.django_db(transaction=True)
def test_a_runner_killed_twice_and_cut_off_hands_in_the_one_record(
    start: Callable[..., subprocess.Popen[bytes]], network: Network, tmp_path: Path
) -> None:
    world, log = World(), tmp_path / "log"
    runner, token = services.register(name="box", customer=world.customer, by=world.signatory)
    (tmp_path / "token").write_text(token)
    key = signatures.make_key(tmp_path / "key")
    process = start()
    until(lambda: services.Runner.objects.filter(key__isnull=False).exists(), log)
    run = requested(world, engagement=world.active().engagement).run

    def is_measured(attempt: int) -> bool:
        row = Run.objects.get(pk=run.pk)
        return row.attempt == attempt and bool(row.progress.get("history"))

    until(lambda: is_measured(1), log)
    process.kill()
    process.wait()
    until(lambda: not referees(tmp_path), log)

    process = start()
    until(lambda: is_measured(2), log)
    first, second = RunnerAttempt.objects.order_by("pk")
    assert first.nonce != second.nonce
    network.is_up = False
    claimed = {"run": run.pk, "nonces": {"site": second.nonce}}
    machine = Machine(runner, key, Client())
    (tmp_path / "part").write_bytes(machine.record(claimed))
    (tmp_path / "part").rename(tmp_path / "record")
    until((tmp_path / "state" / "record.json").exists, log)
    process.kill()
    process.wait()
    assert not Record.objects.exists()

    network.is_up = True
    process = start("once")
    assert process.wait(timeout=60) == 0, log.read_text()
    record = Record.objects.get(run=run)
    assert (record.nonce, record.attempt, record.verdict) == (second.nonce, 2, "met")
    assert RunnerAttempt.objects.count() == 2
    assert not [file.name for file in (tmp_path / "state").glob("*.json")]
