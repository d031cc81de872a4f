"""What was measured is not lost because a disk is full or the database restarts."""

import errno
from typing import Any

import pytest
from django.db import OperationalError

from benchmarks.measuring import supervisor
from benchmarks.models import Run
from benchmarks.services import runs
from tests.benchmarks.conftest import lose_the_worker

# Nothing is started here that could keep a device.
NO_LOCK = ()


def test_a_record_that_cannot_be_stored_fails_its_run_with_that_reason(
    claimed: Run, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    tries = refusing_to_finish(monkeypatch, [full] * 1000)
    settings.TWOFOLD_RUN_LIMITS = {"lease_s": 0.2, "beat_s": 0.05}

    assert supervisor.measure(claimed, device_locks=NO_LOCK) == "failed: run.not_stored"

    claimed.refresh_from_db()
    assert claimed.state == Run.State.FAILED
    assert "No space left on device" in claimed.failure_reason
    assert len(tries) > 1


@pytest.mark.parametrize(
    "trouble",
    [OSError(errno.ENOSPC, "No space left on device"), OperationalError("it is restarting")],
)
def test_a_measured_run_is_not_lost_to_trouble_that_passes(
    claimed: Run,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    trouble: Exception,
) -> None:
    tries = refusing_to_finish(monkeypatch, [trouble])
    settings.TWOFOLD_RUN_LIMITS = {"beat_s": 0.05}

    assert supervisor.measure(claimed, device_locks=NO_LOCK) == "finished"
    assert tries == [b"a record", b"a record"]


def test_a_run_taken_back_while_its_record_waits_is_left_alone(
    claimed: Run, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    refusing_to_finish(monkeypatch, [OSError(errno.ENOSPC, "No space left on device")] * 1000)
    settings.TWOFOLD_RUN_LIMITS = {"beat_s": 0.05}
    lose_the_worker(claimed)
    runs.claim(run_id=claimed.pk, worker="there:2")

    assert supervisor.measure(claimed, device_locks=NO_LOCK) == "lost"
    claimed.refresh_from_db()
    assert (claimed.state, claimed.attempt) == ("running", 2)


def refusing_to_finish(monkeypatch: pytest.MonkeyPatch, troubles: list[Any]) -> list[bytes]:
    """What was handed in to be the record, while each of `troubles` is met in turn."""
    tries: list[bytes] = []

    def finish(*, record_bytes: bytes, **_: Any) -> None:
        tries.append(record_bytes)
        if troubles:
            raise troubles.pop()

    monkeypatch.setattr(supervisor.RunWatch, "wait", lambda watch: b"a record")
    monkeypatch.setattr(runs, "finish", finish)
    return tries
