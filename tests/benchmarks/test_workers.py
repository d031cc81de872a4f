"""Real workers, killed, stopped or without a broker: no run is lost and none doubled."""

import json
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis
from django.db import transaction

from benchmarks import tasks
from benchmarks.models import Benchmark, Record, Run, Solution
from benchmarks.services import runs
from benchmarks.services.sweeping import sweep
from consultancy.embedded.place import Place
from consultancy.embedded.valkey import Valkey
from tests.benchmarks.conftest import pretended, publish_to

pytestmark = pytest.mark.django_db(transaction=True)
LIMITS = {"lease_s": 2.0, "beat_s": 0.3, "progress_every_s": 0.1}
Start = Callable[..., Any]


@pytest.fixture
def start(celery_worker_process: Start, tmp_path: Path, settings: Any) -> Start:
    """Start a worker with short leases and a harness that waits for `tmp_path / "record"`."""
    settings.TWOFOLD_RUN_LIMITS = LIMITS

    def begin(*, pool: str = "prefork", **environment: str) -> Any:
        return celery_worker_process(
            queues="gpu",
            pool=pool,
            environment={
                "DJANGO_SETTINGS_MODULE": "tests.benchmarks.worker_settings",
                "TEST_RUN_LIMITS": json.dumps(LIMITS),
                "TEST_HARNESS_COMMAND": json.dumps(pretended(f"measure={tmp_path / 'record'}")),
                "TWOFOLD_HOME": str(tmp_path),
                **environment,
            },
        )

    return begin


@pytest.fixture
def requested(broker_url: str, benchmark_row: Benchmark, solution: Solution) -> Callable[[], Run]:
    """Ask for a run as a page does."""
    publish_to(broker_url)

    def ask() -> Run:
        with transaction.atomic():
            return runs.request(
                benchmark=benchmark_row, solution=solution, request_key=uuid.uuid4()
            )

    return ask


def until(run: Run, true: Callable[[Run], bool], *, sweeping: bool = False) -> Run:
    """Look at the run until it is so, as a page would; `sweeping` as beat would."""
    deadline = time.monotonic() + 60
    while True:
        if sweeping:
            sweep()
        run.refresh_from_db()
        if true(run):
            return run
        assert time.monotonic() < deadline, f"{run.state} {run.attempt} {run.failure_reason}"
        time.sleep(0.1)


def being_measured(run: Run) -> bool:
    return run.state == "running" and bool(run.progress.get("history"))


def measuring_processes(folder: Path) -> list[psutil.Process]:
    """The harnesses of the test that has this folder; others may be testing beside it."""
    waited_for = pretended(f"measure={folder / 'record'}")[-1]
    found = []
    for process in psutil.process_iter():
        try:
            if waited_for in process.cmdline():
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_a_killed_worker_and_a_repeated_message_lose_no_run_and_double_none(
    start: Start, requested: Callable[[], Run], tmp_path: Path, record_bytes: bytes
) -> None:
    first = start()
    run = until(requested(), being_measured)
    first.kill_alone()
    wait_until(lambda: not measuring_processes(tmp_path))
    killed_at = run.attempt

    start()
    tasks.measure.apply_async((run.pk,), queue="gpu")
    (tmp_path / "record").write_bytes(record_bytes)
    until(run, lambda run: run.is_concluded, sweeping=True)

    assert (run.state, run.attempt) == ("finished", killed_at + 1)
    assert Record.objects.get().attempt == run.attempt

    concluded = Run.objects.values().get(pk=run.pk)
    tasks.measure.apply_async((run.pk,), queue="gpu")
    # The queue is in order: once this run is concluded, the repeated message was delivered.
    until(requested(), lambda run: run.is_concluded)
    assert Run.objects.values().get(pk=run.pk) == concluded
    assert Record.objects.filter(run=run).count() == 1
    assert tasks.measure(run.pk) == "nothing to do"


@pytest.mark.parametrize("pool", ["prefork", pytest.param("solo", marks=pytest.mark.soak)])
def test_a_stopped_worker_requeues_its_run_at_once(
    start: Start, requested: Callable[[], Run], tmp_path: Path, pool: str
) -> None:
    worker = start(pool=pool)
    run = until(requested(), being_measured)
    worker.process.send_signal(signal.SIGTERM)

    assert worker.process.wait(timeout=60) == 0
    run.refresh_from_db()
    assert (run.state, run.attempt, run.leased_until) == ("queued", 1, None)
    assert not measuring_processes(tmp_path)


@pytest.fixture
def other_broker(tmp_path: Path, broker_url: str) -> Iterator[Valkey]:
    """A broker that the test starts when it likes; the application publishes to it."""
    server = Valkey(Place(tmp_path / "other"))
    publish_to(server.url)
    yield server
    publish_to(broker_url)
    server.stop()


def test_a_run_requested_while_the_broker_is_down_is_sent_when_it_is_back(
    requested: Callable[[], Run], other_broker: Valkey
) -> None:
    began = time.monotonic()
    run = requested()
    took_s = time.monotonic() - began
    run.refresh_from_db()
    assert (run.state, run.sent_at) == ("queued", None)
    assert took_s < 2

    other_broker.start()
    until(run, lambda run: run.sent_at is not None, sweeping=True)

    with redis.Redis(unix_socket_path=str(other_broker.socket)) as client:
        assert client.llen("gpu") == 1


def wait_until(true: Callable[[], bool], limit_s: float = 30.0) -> None:
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.05)
