"""Attempts of runners: claim a run, download its files, report progress, submit the record.

A runner has one run at a time. Its lease works as a worker's, except that an attempt which was
swept while the network was down is resumed unless the run was claimed meanwhile.
"""

from __future__ import annotations

import json
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404

from benchmarks.errors import BenchmarkError, RecordRejected, StaleAttempt
from benchmarks.measuring import progress as progress_events
from benchmarks.models import Record, Run
from benchmarks.records.canonical import digest_of_bytes
from benchmarks.records.failure_codes import FailureCode
from benchmarks.services import captured_files, leases
from benchmarks.services import runs as measuring
from benchmarks.verdict.controls import baseline_band
from engagements.common.errors import ApplicationError
from engagements.runners.models import Runner, RunnerAttempt


@transaction.atomic
def claim(*, runner: Runner) -> RunnerAttempt | None:
    """Claim the oldest waiting run that this runner is to measure; None where there is none.

    A runner that claims again has lost the run that it had: the same attempt is returned while no
    progress was reported, so that a lost answer costs nothing; otherwise it ends.
    """
    row = Runner.objects.select_for_update().get(pk=runner.pk)
    if row.key_id is None:
        raise ApplicationError(
            "State the device and the public key of this runner first.", code="runner.no_key"
        )
    held = row.attempts.select_related("run__benchmark", "run__solution").first()
    if held is not None and held.is_current:
        if not held.run.progress and leases.heartbeat(Run, held.run_id, held.attempt):
            return held
        leases.expire(Run, held.run_id, held.attempt)
    for run in waiting(row).filter(leases.claimable()).iterator():
        if not fits(run, row):
            continue
        claimed = measuring.claim(run_id=run.pk, worker=f"runner {row}", measured_by=row.party)
        if claimed is not None:
            return RunnerAttempt.objects.create(
                runner=row, run=claimed, attempt=claimed.attempt, nonce=claimed.nonce
            )
    return None


def waiting(runner: Runner) -> QuerySet[Run]:
    """The unfinished runs of the runner's party, the oldest first."""
    states = [Run.State.QUEUED, Run.State.RUNNING]
    rows = Run.objects.filter(measured_by=runner.party, state__in=states)
    return rows.select_related("benchmark").order_by("requested_at", "pk")


def fits(run: Run, runner: Runner) -> bool:
    """Whether the runner's device is the one that the run's benchmark seals."""
    sealed = run.benchmark.document["hardware"]
    return sealed["device"] == runner.device and sealed["name"] in (None, runner.device_name)


def benchmark_file(attempt: RunnerAttempt) -> bytes:
    """The sealed benchmark of a current attempt. Raises ApplicationError."""
    benchmark = attempt.run.benchmark
    return _file(attempt, bytes(benchmark.canonical), benchmark.digest)


def candidate_file(attempt: RunnerAttempt) -> bytes:
    """The candidate's source of a current attempt. Raises ApplicationError."""
    solution = attempt.run.solution
    return _file(attempt, solution.source.encode(), solution.digest)


def captured_file(attempt: RunnerAttempt, digest: str) -> bytes:
    """A file of captured tensors that the benchmark of a current attempt names.

    Raises Http404 for any other file, and ApplicationError.
    """
    document = attempt.run.benchmark.document
    if digest not in {each["digest"] for each in document.get("captured", {}).values()}:
        raise Http404("No such file.")
    try:
        content = captured_files.content(digest)
    except BenchmarkError as error:
        raise ApplicationError(error.message, code=error.code) from error
    return _file(attempt, content, digest)


def _file(attempt: RunnerAttempt, content: bytes, digest: str) -> bytes:
    """The content, checked against its digest: a runner only gets what was sealed."""
    if not attempt.is_current:
        raise _stale(attempt)
    if digest_of_bytes(content) != digest:
        raise ApplicationError(
            "The stored file does not have its digest. Restore it from a backup.",
            code="runner.damaged_file",
        )
    return content


def report(*, attempt: RunnerAttempt, progress: dict[str, Any] | None) -> None:
    """Extend the lease and store the progress, if there is any. Raises StaleAttempt."""
    _resume(attempt)
    if progress is not None:
        measuring.report_progress(
            run_id=attempt.run_id,
            attempt=attempt.attempt,
            progress=progress_events.validated(progress),
        )


def finish(*, attempt: RunnerAttempt, content: bytes) -> Record:
    """Conclude the run with its signed record, validated as a worker's. Idempotent.

    Raises RecordRejected, which fails the run, and StaleAttempt.
    """
    resumed = leases.resume(Run, attempt.run_id, attempt.attempt)
    try:
        record = measuring.finish(
            run_id=attempt.run_id,
            attempt=attempt.attempt,
            record_bytes=content,
            device_name=attempt.runner.device_name,
        )
    except StaleAttempt as error:
        if not resumed and Record.objects.filter(nonce=attempt.nonce).exists():
            raise RecordRejected(
                "Another record has used the nonce of this attempt.", code="record.used_nonce"
            ) from error
        raise
    if resumed:
        Runner.objects.filter(pk=attempt.runner_id).update(
            matches_calibration=_matches_calibration(content)
        )
    return record


def fail(*, attempt: RunnerAttempt, code: FailureCode, reason: str) -> None:
    """Conclude the run without a record. Raises StaleAttempt."""
    _resume(attempt)
    measuring.fail(run_id=attempt.run_id, attempt=attempt.attempt, code=code, reason=reason)


def release(*, attempt: RunnerAttempt) -> bool:
    """Return the run to the queue, for a runner that shuts down; False when it is stale."""
    return leases.requeue(Run, attempt.run_id, attempt.attempt)


def _resume(attempt: RunnerAttempt) -> None:
    if not leases.resume(Run, attempt.run_id, attempt.attempt):
        raise _stale(attempt)


def _stale(attempt: RunnerAttempt) -> StaleAttempt:
    return StaleAttempt(
        f"Attempt {attempt.attempt} of run {attempt.run_id} has ended.", code="run.stale_attempt"
    )


def _matches_calibration(content: bytes) -> bool | None:
    """Whether the baseline of a valid record ran at its calibrated speed; None if not measured."""
    controls = json.loads(content)["controls"]
    return next((each["passed"] for each in controls if each["name"] == baseline_band.NAME), None)
