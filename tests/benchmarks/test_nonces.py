"""A record concludes a run only if it was measured for it: its nonces say so, once."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from benchmarks.measuring.supervisor import RunWatch
from benchmarks.models import Benchmark, Record, Run, Solution
from benchmarks.records import records
from benchmarks.services import repetitions, runs
from benchmarks.verdict import consistency
from tests import referee_key
from tests.benchmarks.conftest import lose_the_worker, raises_code
from tests.database_constraints import violates


def _with(record_bytes: bytes, **nonces: str) -> bytes:
    """The measured record with these nonces, sealed and signed again."""
    return referee_key.sign(consistency.seal({**records.load(record_bytes), "nonces": nonces}))


def test_a_record_with_the_nonce_of_its_attempt_concludes_the_run(
    claimed: Run, record_bytes: bytes, settings: Any
) -> None:
    settings.TWOFOLD_REQUIRED_NONCES = True
    content = _with(record_bytes, site=claimed.nonce)
    assert runs.finish(run_id=claimed.pk, attempt=1, record_bytes=content).nonce == claimed.nonce


@pytest.mark.parametrize("nonces", [{}, {"site": "0" * 64}])
def test_a_record_measured_for_nothing_or_for_another_run_is_refused(
    claimed: Run, record_bytes: bytes, settings: Any, nonces: dict[str, str]
) -> None:
    settings.TWOFOLD_REQUIRED_NONCES = True
    with raises_code("record.other_nonce"):
        runs.finish(run_id=claimed.pk, attempt=1, record_bytes=_with(record_bytes, **nonces))
    claimed.refresh_from_db()
    assert claimed.state == Run.State.FAILED


def test_every_attempt_has_a_nonce_of_its_own(claimed: Run) -> None:
    lose_the_worker(claimed)
    again = runs.claim(run_id=claimed.pk, worker="there:2")
    assert again is not None
    assert again.nonce != claimed.nonce


def _asked(benchmark: Benchmark, solution: Solution, nonce: str) -> Run:
    return runs.request(
        benchmark=benchmark, solution=solution, request_key=uuid.uuid4(), customer_nonce=nonce
    )


def test_the_customers_nonce_is_asked_for_and_used_once(
    benchmark_row: Benchmark, solution: Solution, record_bytes: bytes
) -> None:
    referee_key.register()
    asked = _asked(benchmark_row, solution, "c" * 32)
    with raises_code("run.customer_nonce_used"):
        _asked(benchmark_row, solution, "c" * 32)
    with violates("run_customer_nonce_is_used_once"):
        Run.objects.create(
            benchmark=benchmark_row,
            solution=solution,
            request_key=uuid.uuid4(),
            customer_nonce="c" * 32,
        )
    claimed = runs.claim(run_id=asked.pk, worker="tester:1")
    assert claimed is not None
    with raises_code("record.other_nonce"):
        runs.finish(
            run_id=asked.pk, attempt=1, record_bytes=_with(record_bytes, site=claimed.nonce)
        )


def test_the_referee_is_given_the_nonces_of_the_attempt(
    claimed: Run, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed.customer_nonce = "c" * 32
    watch = RunWatch(claimed, folder=tmp_path, device_locks=())
    arguments = watch.measurement().arguments(tmp_path, tmp_path / "record")
    given = [arguments[at + 1] for at, each in enumerate(arguments) if each == "--nonce"]
    assert given == [f"site={claimed.nonce}", "customer=" + "c" * 32]


def test_a_record_handed_in_with_an_unknown_or_a_used_nonce_is_refused(
    claimed: Run, record_bytes: bytes
) -> None:
    content = _with(record_bytes, site=claimed.nonce)
    runs.finish(run_id=claimed.pk, attempt=1, record_bytes=content)
    with raises_code("record.unknown_nonce"):
        repetitions.add(content=_with(record_bytes, site="0" * 64), by="them")
    other = consistency.seal(records.load(content) | {"elapsed_s": 1.0})
    with raises_code("record.used_nonce"):
        repetitions.add(content=referee_key.sign(other), by="them")
    # Measured again elsewhere, it has none of ours.
    assert repetitions.add(content=_with(record_bytes), by="them").run == claimed


def test_the_database_keeps_a_nonce_from_a_second_record(
    claimed: Run, record_bytes: bytes, benchmark_row: Benchmark, solution: Solution
) -> None:
    content = _with(record_bytes, site=claimed.nonce)
    first = runs.finish(run_id=claimed.pk, attempt=1, record_bytes=content)
    another = _asked(benchmark_row, solution, "")
    columns = {
        name: getattr(first, name)
        for name in ("file", "verdict", "ratio", "low", "high", "summary", "device_name", "nonce")
    }
    with violates("record_nonce_is_used_once"):
        Record.objects.create(run=another, attempt=1, digest="sha256:" + "1" * 64, **columns)
    assert json.loads(content)["nonces"] == {"site": claimed.nonce}
