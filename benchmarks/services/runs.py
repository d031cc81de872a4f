"""The life of a run: request, claim, report progress, finish or fail.

Every write after the claim names its attempt and is one conditional update, or holds the row's
lock: a stale attempt changes nothing.
"""

from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from benchmarks import evidence, signals, storage
from benchmarks.errors import BenchmarkError, RecordRejected, StaleAttempt
from benchmarks.jobs import JobState
from benchmarks.models import Benchmark, Record, Run, SigningKey, Solution, new_nonce
from benchmarks.records.canonical import digest_of_bytes
from benchmarks.records.failure_codes import FailureCode
from benchmarks.records.redaction import withhold_source
from benchmarks.services import leases, messages
from benchmarks.text import LONGEST_LOG, readable


def request(
    *,
    benchmark: Benchmark,
    solution: Solution,
    request_key: UUID,
    customer_nonce: str = "",
    measured_by: str = "",
) -> Run:
    """Queue a run; the same `request_key` is the same run.

    `customer_nonce` is a value of the customer's that the record must contain, used once.
    `measured_by` is the party whose runners measure it, or empty for the consultancy's workers.

    A worker is woken when the transaction commits. While the broker is down the run stays
    queued, and the sweep enqueues it later.
    """
    if solution.operator != benchmark.operator:
        raise BenchmarkError(
            f"{solution.name} implements {solution.operator}, but {benchmark.name} measures "
            f"{benchmark.operator}.",
            code="run.other_operator",
        )
    others = Run.objects.exclude(request_key=request_key)
    if customer_nonce and others.filter(customer_nonce=customer_nonce).exists():
        raise BenchmarkError(
            "This nonce was used for another run. Enter a new one.",
            code="run.customer_nonce_used",
        )
    run, created = Run.objects.get_or_create(
        request_key=request_key,
        defaults={
            "requested_at": timezone.now(),
            "benchmark": benchmark,
            "solution": solution,
            "customer_nonce": customer_nonce,
            "measured_by": measured_by,
        },
    )
    if (run.benchmark_id, run.solution_id) != (benchmark.pk, solution.pk):
        raise BenchmarkError(
            "This request was already used for another benchmark or solution.",
            code="run.request_key_reused",
        )
    if created:
        messages.wake_worker_on_commit(Run, run.pk)
    return run


def claim(*, run_id: int, worker: str, measured_by: str = "") -> Run | None:
    """Claim a run for a new attempt with a lease and a nonce; None when it is not claimable.

    Only the party that is to measure it may claim it.
    """
    rows = Run.objects.select_related("benchmark", "solution").filter(measured_by=measured_by)
    return leases.claim(rows, pk=run_id, worker=worker, nonce=new_nonce())


def report_progress(*, run_id: int, attempt: int, progress: dict[str, Any]) -> bool:
    """Store the progress of the attempt; False when the attempt is stale."""
    if not leases.current(Run, run_id, attempt).update(progress=progress):
        return False
    signals.run_progressed.send(sender=Run, run=Run.objects.get(pk=run_id))
    return True


def finish(
    *, run_id: int, attempt: int, record_bytes: bytes, device_name: str | None = None
) -> Record:
    """Validate the record of a run, store it and conclude the run. Idempotent.

    `device_name` is that of the machine that hands it in, where it is known. Raises
    RecordRejected for an invalid record, which fails the run with that reason, and StaleAttempt
    when another attempt has claimed the run.
    """
    run = Run.objects.select_related("benchmark", "solution").get(pk=run_id)
    try:
        recomputed, key = evidence.examine(run=run, content=record_bytes, device_name=device_name)
    except RecordRejected as error:
        refused = FailureCode.RECORD_REFUSED
        fail(run_id=run_id, attempt=attempt, code=refused, reason=error.message)
        raise
    if known := Record.objects.filter(digest=recomputed.digest).first():
        if known.run_id == run_id:
            return known
        raise _replayed(run_id, attempt, known)
    if (run.state, run.attempt) != (Run.State.RUNNING, attempt):
        raise _stale(run_id, attempt)
    # Store the file first: a file without a row is harmless, a row without a file is not.
    stored_as = storage.store(digest=recomputed.digest, content=recomputed.content)
    try:
        return _finished(run_id, attempt, recomputed, key, stored_as)
    except IntegrityError as error:
        # Another run stored the same record concurrently.
        if known := Record.objects.filter(digest=recomputed.digest).first():
            raise _replayed(run_id, attempt, known) from error
        raise


def _finished(
    run_id: int, attempt: int, recomputed: evidence.Recomputed, key: SigningKey, stored_as: str
) -> Record:
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=run_id)
        if (run.state, run.attempt) != (Run.State.RUNNING, attempt):
            raise _stale(run_id, attempt)
        record = Record.objects.create(
            run=run,
            attempt=attempt,
            file=stored_as,
            digest=recomputed.digest,
            file_digest=digest_of_bytes(recomputed.content),
            sourceless_digest=digest_of_bytes(withhold_source(recomputed.content)),
            nonce=recomputed.nonces.get("site", ""),
            signed_by=key,
            **recomputed.columns(),
        )
        _conclude(run, state=Run.State.FINISHED)
    return record


def fail(*, run_id: int, attempt: int, code: FailureCode, reason: str, log: str = "") -> bool:
    """Conclude the run without a record; False when the attempt is stale.

    `code` is the cause, `reason` says what failed and what to do; `log` is what was printed,
    tracebacks included.
    """
    return _fail(leases.current(Run, run_id, attempt), code, reason, log)


def cancel(*, run_id: int, by: str) -> bool:
    """End a queued or running run; False when it is concluded. Its worker stops within a beat."""
    under_way = Run.objects.filter(pk=run_id, state__in=[Run.State.QUEUED, Run.State.RUNNING])
    name = readable(by, longest=200)
    reason = f"{name} cancelled this run."
    return _fail(under_way, FailureCode.CANCELLED, reason, cancelled_by=name)


def give_up(*, run_id: int, reason: str) -> bool:
    """Fail a run that is still queued; False when it was claimed or is concluded."""
    queued = Run.objects.filter(pk=run_id, state=Run.State.QUEUED)
    return _fail(queued, FailureCode.UNCLAIMED, reason)


def _replayed(run_id: int, attempt: int, known: Record) -> RecordRejected:
    error = RecordRejected(
        f"This record already belongs to run {known.run_id}.", code="record.replayed"
    )
    refused = FailureCode.RECORD_REFUSED
    fail(run_id=run_id, attempt=attempt, code=refused, reason=error.message)
    return error


def _stale(run_id: int, attempt: int) -> StaleAttempt:
    return StaleAttempt(f"Attempt {attempt} of run {run_id} is stale.", code="run.stale_attempt")


def _fail(
    rows: QuerySet[Run], code: FailureCode, reason: str, log: str = "", *, cancelled_by: str = ""
) -> bool:
    """Fail the run in `rows`, under its lock; False when there is none."""
    with transaction.atomic():
        run = rows.select_for_update().first()
        if run is None:
            return False
        run.failure_code = code
        run.failure_reason = readable(reason) or "The run failed without a reason."
        run.log = readable(log, longest=LONGEST_LOG)
        run.cancelled_by = cancelled_by
        _conclude(run, state=Run.State.FAILED)
    return True


def _conclude(run: Run, *, state: JobState) -> None:
    run.state = state
    run.leased_until = None
    run.finished_at = timezone.now()
    run.save(
        update_fields=[
            "state",
            "leased_until",
            "finished_at",
            "failure_code",
            "failure_reason",
            "log",
            "cancelled_by",
        ]
    )
    signals.run_concluded.send(sender=Run, run=run)
