"""The life of a run: request, claim, report progress, finish or fail.

Every write after the claim names its attempt and is one conditional update, or holds the row's
lock: a stale attempt changes nothing.
"""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from benchmarks import evidence, signals, storage
from benchmarks.errors import BenchmarkError, RecordRejected, StaleAttempt
from benchmarks.limits import limits
from benchmarks.models import Benchmark, Record, Run, SigningKey, Solution, new_nonce
from benchmarks.records.canonical import digest_of_bytes
from benchmarks.records.redaction import withhold_source
from benchmarks.services import messages
from benchmarks.text import readable


def request(
    *, benchmark: Benchmark, solution: Solution, request_key: UUID, customer_nonce: str = ""
) -> Run:
    """Queue a run; the same `request_key` is the same run.

    `customer_nonce` is a value of the customer's that the record must contain, used once.

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
        },
    )
    if (run.benchmark_id, run.solution_id) != (benchmark.pk, solution.pk):
        raise BenchmarkError(
            "This request was already used for another benchmark or solution.",
            code="run.request_key_reused",
        )
    if created:
        messages.wake_worker_on_commit(run.pk)
    return run


def claim(*, run_id: int, worker: str) -> Run | None:
    """Claim a run for a new attempt with a lease; None when it is not claimable.

    Claimable are queued runs, and running ones whose lease expired while attempts remain (after
    the last attempt the sweep fails them).
    """
    lost = Q(state=Run.State.RUNNING, leased_until__lt=Now(), attempt__lt=limits().attempts)
    free = Q(state=Run.State.QUEUED) | lost
    with transaction.atomic():
        taken = Run.objects.filter(free, pk=run_id).update(
            state=Run.State.RUNNING,
            attempt=F("attempt") + 1,
            nonce=new_nonce(),
            leased_until=_lease_end(),
            worker=readable(worker, longest=200),
            progress={},
            started_at=Coalesce("started_at", Now()),
        )
        # The update still holds the row's lock, so this reads our own attempt.
        return Run.objects.select_related("benchmark", "solution").get(pk=run_id) if taken else None


def heartbeat(*, run_id: int, attempt: int) -> bool:
    """Extend the lease; False when the attempt is stale and must stop."""
    return bool(_current(run_id, attempt).update(leased_until=_lease_end()))


def report_progress(*, run_id: int, attempt: int, progress: dict[str, Any]) -> bool:
    """Store the progress of the attempt; False when the attempt is stale."""
    if not _current(run_id, attempt).update(progress=progress):
        return False
    signals.run_progressed.send(sender=Run, run=Run.objects.get(pk=run_id))
    return True


def requeue(*, run_id: int, attempt: int) -> bool:
    """Queue the run again because its worker is shutting down; False when the attempt is stale.

    A run may be requeued any number of times: only lost workers count toward the limit.
    """
    requeued = _current(run_id, attempt).update(
        state=Run.State.QUEUED, leased_until=None, sent_at=None, worker="", progress={}
    )
    if requeued:
        messages.wake_worker_on_commit(run_id)
    return bool(requeued)


def postpone(*, run_id: int) -> None:
    """Leave a queued run to the next sweep. Uses no attempt."""
    Run.objects.filter(pk=run_id, state=Run.State.QUEUED).update(sent_at=None)


def finish(*, run_id: int, attempt: int, record_bytes: bytes) -> Record:
    """Validate the record of a run, store it and conclude the run. Idempotent.

    Raises RecordRejected for an invalid record, which fails the run with that reason, and
    StaleAttempt when another attempt has claimed the run.
    """
    run = Run.objects.select_related("benchmark", "solution").get(pk=run_id)
    try:
        recomputed, key = evidence.examine(run=run, content=record_bytes)
    except RecordRejected as error:
        fail(run_id=run_id, attempt=attempt, reason=error.message)
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


def fail(*, run_id: int, attempt: int, reason: str) -> bool:
    """Conclude the run without a record; False when the attempt is stale.

    `reason` says what failed and what to do.
    """
    with transaction.atomic():
        run = _current(run_id, attempt).select_for_update().first()
        if run is None:
            return False
        run.failure_reason = readable(reason) or "The run failed without a reason."
        _conclude(run, state=Run.State.FAILED)
    return True


def _replayed(run_id: int, attempt: int, known: Record) -> RecordRejected:
    error = RecordRejected(
        f"This record already belongs to run {known.run_id}.", code="record.replayed"
    )
    fail(run_id=run_id, attempt=attempt, reason=error.message)
    return error


def _stale(run_id: int, attempt: int) -> StaleAttempt:
    return StaleAttempt(f"Attempt {attempt} of run {run_id} is stale.", code="run.stale_attempt")


def _conclude(run: Run, *, state: Run.State) -> None:
    run.state = state
    run.leased_until = None
    run.finished_at = timezone.now()
    run.save(update_fields=["state", "leased_until", "finished_at", "failure_reason"])
    signals.run_concluded.send(sender=Run, run=run)


def _current(run_id: int, attempt: int) -> QuerySet[Run]:
    return Run.objects.filter(pk=run_id, attempt=attempt, state=Run.State.RUNNING)


def _lease_end() -> Any:
    # The database's clock: the clocks of workers may differ.
    return Now() + timedelta(seconds=limits().lease_s)
