"""Whatever the measuring process does, the run gets a reason and the worker lives."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.conf import settings as django_settings

from benchmarks import tasks
from benchmarks.limits import limits
from benchmarks.measuring import device, job_watching, stopping, supervisor
from benchmarks.models import Run
from benchmarks.services import leases, runs
from tests.benchmarks.conftest import lose_the_worker

Pretend = Callable[..., None]


@pytest.fixture(autouse=True)
def own_devices(settings: Any, tmp_path: Path) -> None:
    """Tests do not wait for runs of this checkout."""
    settings.TWOFOLD_HOME = tmp_path


def locked(*devices: str) -> AbstractContextManager[tuple[int, ...]]:
    """Lock devices as the site's worker does."""
    home = Path(django_settings.TWOFOLD_HOME)
    return device.locked(*devices, home=home, wait_s=limits().device_wait_s)


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[tuple[int, ...]]:
    """A device that is held."""
    with locked("test") as held:
        yield held


def measured(run: Run, lock: tuple[int, ...]) -> str:
    outcome = supervisor.measure(run, device_locks=lock)
    run.refresh_from_db()
    return outcome


@pytest.mark.parametrize(
    ("behaviour", "code", "cause", "reason"),
    [
        ("killed", "run.killed", "interrupted", "9"),
        ("crash", "run.no_record", "interrupted", "RuntimeError: no such device"),
        ("unusable", "run.unusable", "benchmark_at_fault", "names repeat"),
        ("not measurable", "run.not_measurable", "candidate_crashed", "raised ValueError: 7 heads"),
        ("silent success", "run.no_record", "interrupted", ""),
        ("rubbish", "record.invalid", "record_refused", ""),
    ],
)
def test_a_bad_end_is_a_failed_run_with_a_reason(
    claimed: Run,
    lock: tuple[int, ...],
    pretend: Pretend,
    behaviour: str,
    code: str,
    cause: str,
    reason: str,
) -> None:
    pretend(behaviour)

    assert measured(claimed, lock) == f"failed: {code}"

    assert (claimed.state, claimed.failure_code) == (Run.State.FAILED, cause)
    assert reason in claimed.failure_reason
    assert not hasattr(claimed, "record")


def test_rubbish_between_events_does_not_hide_the_events(
    claimed: Run, lock: tuple[int, ...], pretend: Pretend
) -> None:
    pretend("rubbish")

    measured(claimed, lock)

    assert [point["ratio"] for point in claimed.progress["history"]] == [2.5]
    assert claimed.progress["round"] == 3


@pytest.mark.parametrize(
    ("behaviour", "limits", "code"),
    [
        ("hang", {"silence_s": 0.5}, "run.too_quiet"),
        ("hang", {"run_s": 0.5}, "run.too_long"),
        ("flood", {"output_bytes": 1_000_000}, "run.too_much_output"),
    ],
)
def test_a_process_that_will_not_end_is_ended(
    claimed: Run,
    lock: tuple[int, ...],
    pretend: Pretend,
    behaviour: str,
    limits: dict[str, float],
    code: str,
) -> None:
    pretend(behaviour, **limits)

    assert measured(claimed, lock) == f"failed: {code}"
    assert claimed.state == Run.State.FAILED
    assert claimed.failure_reason


def test_a_process_in_another_session_does_not_outlive_the_run(
    claimed: Run, lock: tuple[int, ...], pretend: Pretend, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    pretend(f"family={pids}", run_s=1.0)

    measured(claimed, lock)

    assert not any(psutil.pid_exists(int(pid)) for pid in pids.read_text().split())


def test_an_attempt_that_lost_its_lease_stops_and_says_nothing(
    claimed: Run, lock: tuple[int, ...], pretend: Pretend
) -> None:
    pretend("hang", beat_s=0.1)
    lose_the_worker(claimed)
    runs.claim(run_id=claimed.pk, worker="there:2")

    assert supervisor.measure(claimed, device_locks=lock) == "lost"
    claimed.refresh_from_db()
    assert (claimed.state, claimed.attempt, claimed.worker) == ("running", 2, "there:2")


def test_a_stopped_worker_requeues_its_run(
    claimed: Run, lock: tuple[int, ...], pretend: Pretend, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend("hang")
    monkeypatch.setattr(stopping, "is_requested", lambda: True)

    assert supervisor.measure(claimed, device_locks=lock) == "requeued"
    claimed.refresh_from_db()
    assert (claimed.state, claimed.attempt) == ("queued", 1)


def test_the_measuring_process_gets_no_secret(
    claimed: Run,
    lock: tuple[int, ...],
    pretend: Pretend,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://u:p@h/d")
    monkeypatch.setenv("TWOFOLD_SECRET_KEY", "s")
    pretend(f"environment={tmp_path / 'seen'}")

    measured(claimed, lock)

    seen = json.loads((tmp_path / "seen").read_text())
    assert "PATH" in seen
    assert not {name for name in seen if "URL" in name or "SECRET" in name or "BROKER" in name}


def test_a_device_takes_one_run_at_a_time_and_waiting_costs_no_attempt(
    run: Run, pretend: Pretend
) -> None:
    pretend("crash", device_wait_s=0.2)
    Run.objects.filter(pk=run.pk).update(sent_at=run.requested_at)
    with locked("cpu"):
        assert tasks.measure(run.pk) == "device busy"
    run.refresh_from_db()
    assert (run.state, run.attempt, run.sent_at) == ("queued", 0, None)

    assert tasks.measure(run.pk) == "failed: run.no_record"


def test_another_device_is_free(tmp_path: Path) -> None:
    with locked("cuda-0"), locked("cuda-1"):
        pass


def test_several_devices_are_taken_together_or_not_at_all(settings: Any) -> None:
    settings.TWOFOLD_RUN_LIMITS = {"device_wait_s": 0.0}
    with locked("cuda-1"):
        with pytest.raises(device.DeviceBusy), locked("cuda-1", "cuda-0"):
            pass
        with locked("cuda-0"):
            pass


def test_the_device_stays_taken_while_a_killed_worker_leaves_anything_behind(
    tmp_path: Path, settings: Any
) -> None:
    settings.TWOFOLD_RUN_LIMITS = {"device_wait_s": 0.0}
    with locked("cpu") as lock:
        leftover = subprocess.Popen(["sleep", "60"], pass_fds=lock)
    try:
        with pytest.raises(device.DeviceBusy), locked("cpu"):
            pass
    finally:
        leftover.kill()
        leftover.wait()
    with locked("cpu"):
        pass


def test_a_worker_killed_with_nine_takes_everything_with_it(tmp_path: Path) -> None:
    """The kernel signals the watchdog when its parent dies; the watchdog kills the rest."""
    pids, scratch = tmp_path / "pids", tmp_path / "scratch"
    scratch.mkdir()
    from benchmarks.measuring import watchdog
    from tests.benchmarks.conftest import pretended

    command = [*pretended(f"family={pids}"), "run", "--out", "x"]
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, subprocess, sys; subprocess.Popen([sys.executable, '-I', sys.argv[1],"
            " str(os.getpid()), *sys.argv[2:]]).wait()",
            watchdog.__file__,
            str(scratch),
            *command,
        ]
    )
    wait_until(pids.exists)
    wait_until(lambda: len(pids.read_text().split()) == 2)
    bury(scratch)
    parent.send_signal(signal.SIGKILL)
    parent.wait()

    family = [int(pid) for pid in pids.read_text().split()]
    wait_until(lambda: not any(psutil.pid_exists(pid) for pid in family))
    wait_until(lambda: not scratch.exists())


def test_a_database_that_restarts_does_not_end_the_run(
    claimed: Run, lock: tuple[int, ...], pretend: Pretend, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import OperationalError

    answers: list[Any] = [OperationalError("the server closed the connection"), True]
    calls: list[float] = []

    def beat(*_: Any) -> bool:
        calls.append(time.monotonic())
        answer = answers.pop(0) if answers else False
        if isinstance(answer, Exception):
            raise answer
        return bool(answer)

    monkeypatch.setattr(leases, "heartbeat", beat)
    monkeypatch.setattr(job_watching, "close_old_connections", lambda: None)
    pretend("hang", beat_s=0.1)

    assert supervisor.measure(claimed, device_locks=lock) == "lost"
    assert len(calls) == 3


def test_folders_nested_too_deep_for_python_keep_no_run_from_its_reason(
    claimed: Run, lock: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def wait(watch: supervisor.RunWatch) -> bytes:
        made.append(watch.folder)
        bury(watch.folder)
        raise supervisor.outcomes.too_long(1.0)

    monkeypatch.setattr(supervisor.RunWatch, "wait", wait)

    assert measured(claimed, lock) == "failed: run.too_long"
    assert not made[0].exists()


def bury(folder: Path) -> None:
    """Folders in it, deeper than Python's own removal goes."""
    handle = os.open(folder, os.O_DIRECTORY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=handle)
        below = os.open("d", os.O_DIRECTORY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)


def wait_until(true: Callable[[], bool], limit_s: float = 30.0) -> None:
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def test_a_side_may_pass_through_the_folder_of_its_run(
    monkeypatch: pytest.MonkeyPatch, claimed: Run, lock: tuple[int, ...]
) -> None:
    modes = []

    def wait(watch: supervisor.RunWatch) -> bytes:
        modes.append(watch.folder.stat().st_mode & 0o777)
        raise supervisor.outcomes.Failed("that was all", code="run.killed")

    monkeypatch.setattr(supervisor.RunWatch, "wait", wait)
    supervisor.measure(claimed, device_locks=lock)
    assert modes == [0o711]
