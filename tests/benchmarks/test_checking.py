"""Checks of a customer's benchmark as jobs: every end has a state, and none is lost or doubled."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from benchmarks import tasks
from benchmarks.measuring import checking, stopping
from benchmarks.models import BenchmarkCheck
from benchmarks.services import checks, leases
from benchmarks.services.sweeping import sweep
from tests.benchmarks.conftest import quick_document, raises_code

pytestmark = pytest.mark.django_db
Pretend = Callable[..., None]


@pytest.fixture(autouse=True)
def own_devices(settings: Any, tmp_path: Path) -> None:
    """Tests do not wait for runs of this checkout."""
    settings.TWOFOLD_HOME = tmp_path


@pytest.fixture
def check(db: None) -> BenchmarkCheck:
    """A queued check."""
    return checks.request(document=quick_document(), request_key=uuid.uuid4())


def test_a_passed_check_has_its_benchmark_and_its_log(
    check: BenchmarkCheck, pretend: Pretend
) -> None:
    pretend("check")
    assert tasks.check_benchmark(check.pk) == "passed"
    check.refresh_from_db()
    assert (check.state, check.passed, check.checked_digest) == ("finished", True, check.digest)
    (result,) = check.results
    assert (result["code"], result["outcome"]) == ("check.baseline", "ok")
    assert "\0" not in result["message"]
    assert tasks.check_benchmark(check.pk) == "nothing to do"


def test_a_benchmark_to_be_changed_has_a_log_and_no_benchmark(
    check: BenchmarkCheck, pretend: Pretend
) -> None:
    pretend("check to change")
    assert tasks.check_benchmark(check.pk) == "to be changed"
    check.refresh_from_db()
    assert (check.state, check.passed, len(check.results)) == ("finished", False, 1)


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        ("killed", "check.no_result"),
        ("crash", "check.no_result"),
        ("unusable", "check.unusable"),
        ("silent success", "check.no_result"),
    ],
)
def test_a_bad_end_is_a_failed_check_with_a_reason(
    check: BenchmarkCheck, pretend: Pretend, behaviour: str, code: str
) -> None:
    pretend(behaviour)
    assert tasks.check_benchmark(check.pk) == f"failed: {code}"
    check.refresh_from_db()
    assert check.state == "failed"
    assert check.failure_reason


def test_a_stopping_worker_requeues_and_a_lost_one_is_swept_then_given_up(
    check: BenchmarkCheck, pretend: Pretend, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend("hang", attempts=2, lease_s=0.0)
    asked = iter([False, True])
    monkeypatch.setattr(stopping, "is_requested", lambda: next(asked))
    assert tasks.check_benchmark(check.pk) == "requeued"
    leases.claim(BenchmarkCheck.objects.all(), pk=check.pk, worker="gone:1")
    assert sweep().failed == 1
    check.refresh_from_db()
    assert (check.state, check.attempt) == ("failed", 2)


@pytest.mark.django_db(transaction=True)
def test_a_cancelled_check_ends_its_process(check: BenchmarkCheck, pretend: Pretend) -> None:
    pretend("hang", beat_s=0.1)

    def cancel() -> None:
        deadline = time.monotonic() + 20
        while BenchmarkCheck.objects.get(pk=check.pk).state != "running":
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert checks.cancel(check_id=check.pk, by="Connie")
        connection.close()

    thread = threading.Thread(target=cancel)
    thread.start()
    outcome = tasks.check_benchmark(check.pk)
    thread.join()
    assert outcome == "lost"
    check.refresh_from_db()
    assert (check.state, check.attempt) == ("failed", 1)
    assert not checks.cancel(check_id=check.pk, by="Connie")


def test_a_check_requires_the_isolation_that_runs_require(
    check: BenchmarkCheck, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []

    def supervise(watch: checking.CheckWatch, arguments: list[str]) -> int:
        given.extend(arguments)
        return 1

    monkeypatch.setattr(checking.CheckWatch, "supervise", supervise)
    settings.TWOFOLD_REQUIRED_ISOLATION = ("no_network", "unprivileged_user")
    watch = checking.CheckWatch(check, folder=tmp_path, device_locks=())
    watch.results.append({})
    assert watch.wait() is None
    assert given[given.index("--require-isolation") + 1] == "no_network,unprivileged_user"


def test_one_request_is_one_check(check: BenchmarkCheck) -> None:
    document = quick_document()
    assert checks.request(document=document, request_key=check.request_key) == check
    with raises_code("check.request_key_reused"):
        checks.request(document={**document, "target": 3.0}, request_key=check.request_key)


def test_events_of_a_check_are_bounded(check: BenchmarkCheck, tmp_path: Path) -> None:
    watch = checking.CheckWatch(check, folder=tmp_path, device_locks=())
    for line in (b"\xff", b"[1]", b'{"event": "tried", "title": 7, "outcome": "odd"}', b"{" * 9999):
        watch.read(line, at_s=0.0)
    assert watch.ignored_lines == 3
    assert [each["outcome"] for each in watch.results] == ["error"]
