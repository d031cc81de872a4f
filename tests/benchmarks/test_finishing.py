"""A record is believed only when it is of this run, whole, and its verdict follows from it."""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError

from benchmarks import queries, storage
from benchmarks.errors import RecordRejected, StaleAttempt
from benchmarks.models import Record, Run
from benchmarks.records import records
from benchmarks.records.canonical import canonical, digest_of_bytes
from benchmarks.records.failure_codes import FailureCode
from benchmarks.services import leases, runs
from benchmarks.signals import run_concluded
from benchmarks.verdict import consistency
from tests import referee_key
from tests.benchmarks.conftest import lose_the_worker, raises_code
from tests.database_constraints import violates


def test_an_honest_record_concludes_the_run(claimed: Run, record_bytes: bytes) -> None:
    record = runs.finish(run_id=claimed.pk, attempt=1, record_bytes=record_bytes)

    claimed.refresh_from_db()
    said = records.load(record_bytes)
    assert (claimed.state, claimed.leased_until) == ("finished", None)
    assert claimed.finished_at is not None
    assert (record.attempt, record.digest) == (1, said["digest"])
    assert record.verdict == said["summary"]["verdict"]
    assert (record.ratio, record.low, record.high) == pytest.approx(
        tuple(said["summary"][name] for name in ("ratio", "low", "high"))
    )
    assert record.device_name == said["environment"]["device"]["name"]
    assert record.signed_by is not None
    assert record.signed_by.key_id == said["signature"]["key_id"] == referee_key.KEY.public.id
    assert storage.load(record) == record_bytes
    assert queries.record_of(claimed) == said


def test_the_same_record_again_changes_nothing(claimed: Run, record_bytes: bytes) -> None:
    heard: list[Run] = []
    run_concluded.connect(listener := lambda run, **_: heard.append(run))
    first = runs.finish(run_id=claimed.pk, attempt=1, record_bytes=record_bytes)
    again = runs.finish(run_id=claimed.pk, attempt=1, record_bytes=record_bytes)
    run_concluded.disconnect(listener)

    assert again == first
    assert Record.objects.count() == 1
    assert heard == [claimed]


def test_the_late_record_of_a_past_attempt_is_refused(claimed: Run, record_bytes: bytes) -> None:
    lose_the_worker(claimed)
    runs.claim(run_id=claimed.pk, worker="there:2")

    with pytest.raises(StaleAttempt):
        runs.finish(run_id=claimed.pk, attempt=1, record_bytes=record_bytes)
    claimed.refresh_from_db()
    assert (claimed.state, claimed.attempt) == ("running", 2)
    assert not Record.objects.exists()


def test_a_record_after_the_run_was_taken_back_is_refused(
    claimed: Run, record_bytes: bytes
) -> None:
    leases.requeue(Run, claimed.pk, 1)

    with pytest.raises(StaleAttempt):
        runs.finish(run_id=claimed.pk, attempt=1, record_bytes=record_bytes)


def test_what_listens_can_stop_the_conclusion(claimed: Run, record_bytes: bytes) -> None:
    """The signal is part of the transaction: what fails there leaves the run as it was."""

    def refuse(**_: Any) -> None:
        raise IntegrityError("no such engagement")

    run_concluded.connect(refuse)
    try:
        with pytest.raises(IntegrityError):
            runs.finish(run_id=claimed.pk, attempt=1, record_bytes=record_bytes)
    finally:
        run_concluded.disconnect(refuse)
    claimed.refresh_from_db()
    assert claimed.state == "running"
    assert not Record.objects.exists()


def forged(change: Callable[[dict[str, Any]], None], content: bytes, *, sealed: bool) -> bytes:
    """The record with a change, signed again; `sealed`: with a digest that fits the change."""
    record = records.load(content)
    change(record)
    if sealed:
        record["digest"] = records.digest_of(record)
    return referee_key.sign(record)


def flatter(record: dict[str, Any]) -> None:
    record["summary"] |= {"verdict": "met", "ratio": 9.0, "low": 8.0, "high": 10.0}


def speed_up(record: dict[str, Any]) -> None:
    for replicate in record["replicates"]:
        for workload in replicate["workloads"]:
            for measured in workload["rounds"]:
                measured["candidate_us"] /= 10


def lower_the_target(record: dict[str, Any]) -> None:
    record["benchmark"]["target"] = 0.1
    record["benchmark_digest"] = digest_of_bytes(canonical(record["benchmark"]))
    record["summary"] = consistency.seal(record)["summary"]


def swap_the_source(record: dict[str, Any]) -> None:
    record["candidate"]["source"] = "print('another')\n"
    record["candidate"]["source_digest"] = digest_of_bytes(b"print('another')\n")


def swap_the_source_under_the_digest(record: dict[str, Any]) -> None:
    record["candidate"]["source"] = "print('another')\n"


@pytest.mark.parametrize(
    ("change", "sealed", "code"),
    [
        (flatter, False, "record.contradictory"),
        (flatter, True, "record.contradictory"),
        (speed_up, False, "record.contradictory"),
        (speed_up, True, "record.contradictory"),
        (lower_the_target, True, "record.other_benchmark"),
        (swap_the_source, True, "record.other_source"),
        (swap_the_source_under_the_digest, True, "record.contradictory"),
    ],
)
def test_a_tampered_record_fails_the_run_and_is_not_believed(
    claimed: Run,
    record_bytes: bytes,
    change: Callable[[dict[str, Any]], None],
    sealed: bool,
    code: str,
) -> None:
    content = forged(change, record_bytes, sealed=sealed)

    with raises_code(code):
        runs.finish(run_id=claimed.pk, attempt=1, record_bytes=content)
    claimed.refresh_from_db()
    assert claimed.state == "failed"
    assert claimed.failure_reason
    assert not Record.objects.exists()


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"{}", b"[1]", b'{"digest": NaN}'])
def test_rubbish_fails_the_run_with_a_reason(claimed: Run, content: bytes) -> None:
    with raises_code("record.invalid"):
        runs.finish(run_id=claimed.pk, attempt=1, record_bytes=content)
    claimed.refresh_from_db()
    assert claimed.state == "failed"


def test_a_caught_candidate_is_a_finished_run_without_a_ratio(
    claimed: Run, record_bytes: bytes
) -> None:
    caught = records.load(record_bytes)
    workload = caught["benchmark"]["workloads"][0]["name"]
    caught["findings"] = [
        {
            "kind": "output",
            "side": "candidate",
            "replicate": 0,
            "workload": workload,
            "message": "the candidate's output is wrong",
        }
    ]

    record = runs.finish(
        run_id=claimed.pk, attempt=1, record_bytes=referee_key.sign(consistency.seal(caught))
    )

    claimed.refresh_from_db()
    assert claimed.state == "finished"
    assert (record.verdict, record.ratio) == ("disqualified", None)
    assert record.summary["reasons"] == ["the candidate's output is wrong"]


def test_rubbish_of_a_past_attempt_does_not_fail_the_run(claimed: Run) -> None:
    lose_the_worker(claimed)
    runs.claim(run_id=claimed.pk, worker="there:2")

    with pytest.raises(RecordRejected):
        runs.finish(run_id=claimed.pk, attempt=1, record_bytes=b"")
    claimed.refresh_from_db()
    assert claimed.state == "running"


def test_a_stored_record_cannot_be_changed_in_the_database(
    claimed: Run, record_bytes: bytes
) -> None:
    record = runs.finish(run_id=claimed.pk, attempt=1, record_bytes=record_bytes)

    with violates("record.append_only"):
        Record.objects.filter(pk=record.pk).update(verdict="met")


def test_a_record_changed_on_disk_is_not_shown(
    claimed: Run, record_bytes: bytes, records_folder: Path
) -> None:
    record = runs.finish(run_id=claimed.pk, attempt=1, record_bytes=record_bytes)
    file = records_folder / str(record.file.name)
    file.write_bytes(forged(speed_up, record_bytes, sealed=True))

    with raises_code("record.changed"):
        queries.record_of(claimed)
    file.unlink()
    with raises_code("record.unreadable"):
        queries.record_of(claimed)


def test_a_half_written_file_of_a_killed_worker_is_not_taken_for_the_record(
    claimed: Run, record_bytes: bytes, records_folder: Path
) -> None:
    hexadecimal = records.load(record_bytes)["digest"].removeprefix("sha256:")
    orphan = records_folder / "records" / hexadecimal[:2] / f"{hexadecimal}.json"
    orphan.parent.mkdir(parents=True)
    orphan.write_bytes(record_bytes[:100])

    runs.finish(run_id=claimed.pk, attempt=1, record_bytes=record_bytes)

    assert queries.record_of(claimed) == records.load(record_bytes)


def test_a_failed_run_has_no_record_and_says_so(claimed: Run) -> None:
    runs.fail(
        run_id=claimed.pk,
        attempt=1,
        code=FailureCode.INTERRUPTED,
        reason="  The candidate raised\x00 ValueError. ",
    )

    claimed.refresh_from_db()
    assert claimed.failure_reason == "The candidate raised  ValueError."
    with raises_code("record.missing"):
        queries.record_of(claimed)


@pytest.mark.parametrize("at_once", [False, True])
def test_another_run_of_the_same_benchmark_has_a_record_of_its_own(
    claimed: Run, record_bytes: bytes, at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One record cannot stand for two runs: its digest is taken."""
    store = storage.store

    def taken_first(**kept: Any) -> str:
        monkeypatch.setattr(storage, "store", store)
        runs.finish(run_id=claimed.pk, attempt=1, record_bytes=record_bytes)
        return store(**kept)

    if at_once:
        monkeypatch.setattr(storage, "store", taken_first)
    else:
        runs.finish(run_id=claimed.pk, attempt=1, record_bytes=record_bytes)
    other = Run.objects.create(
        benchmark=claimed.benchmark, solution=claimed.solution, request_key=uuid.uuid4()
    )
    runs.claim(run_id=other.pk, worker="here:1")

    with raises_code("record.replayed"):
        runs.finish(run_id=other.pk, attempt=1, record_bytes=record_bytes)
    other.refresh_from_db()
    assert other.state == "failed"
