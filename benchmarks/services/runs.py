"""A run's life: requested, claimed by an attempt, reported on, concluded.

Every change after the claim names its attempt and is one conditional update, or is made
under the row's lock: what a past attempt still says changes nothing.
"""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from benchmarks import evidence, signals, storage
from benchmarks.errors import AttemptOver, RecordRefused, Refused
from benchmarks.limits import limits
from benchmarks.models import Benchmark, Record, Run, Solution
from benchmarks.services import messages
from benchmarks.text import readable


def request(*, benchmark: Benchmark, solution: Solution, request_key: UUID) -> Run:
    """Queue a run. The same `request_key` is the same run, however often it is asked for.

    The row comes first; the message goes out when the transaction commits. While the
    broker is down the run stays queued and the sweep sends it later.
    """
    if solution.operator != benchmark.operator:
        raise Refused(
            f"{solution.name} implements {solution.operator}, "
            f"and {benchmark.name} measures {benchmark.operator}."
        )
    run, created = Run.objects.get_or_create(
        request_key=request_key, defaults={"benchmark": benchmark, "solution": solution}
    )
    if (run.benchmark_id, run.solution_id) != (benchmark.pk, solution.pk):
        raise Refused("This request was made before, for another benchmark or solution.")
    if created:
        transaction.on_commit(lambda: messages.send(run_id=run.pk), robust=True)
    return run


def claim(*, run_id: int, worker: str) -> Run | None:
    """Take a run for a new attempt with a lease; None when there is nothing to take.

    Claimable is what is queued, and what is running with a lease that ran out while attempts
    are left (the sweep fails it otherwise).
    """
    lost = Q(state=Run.State.RUNNING, leased_until__lt=Now(), attempt__lt=limits().attempts)
    free = Q(state=Run.State.QUEUED) | lost
    with transaction.atomic():
        taken = Run.objects.filter(free, pk=run_id).update(
            state=Run.State.RUNNING,
            attempt=F("attempt") + 1,
            leased_until=_lease_end(),
            worker=readable(worker, longest=200),
            progress={},
            started_at=Coalesce("started_at", Now()),
        )
        # Still inside: the update holds the row's lock, so the attempt read here is ours.
        return Run.objects.select_related("benchmark", "solution").get(pk=run_id) if taken else None


def heartbeat(*, run_id: int, attempt: int) -> bool:
    """Extend the lease; False when this attempt no longer has it and must stop."""
    return bool(_current(run_id, attempt).update(leased_until=_lease_end()))


def report_progress(*, run_id: int, attempt: int, progress: dict[str, Any]) -> bool:
    """Store how far the attempt is, for the page; False when the attempt is over."""
    if not _current(run_id, attempt).update(progress=progress):
        return False
    signals.run_progressed.send(sender=Run, run=Run.objects.get(pk=run_id))
    return True


def give_back(*, run_id: int, attempt: int) -> bool:
    """Queue the run again because its worker was told to stop; False when it was not ours.

    However often that happens, the run can be claimed again: only lost workers use it up.
    """
    given = _current(run_id, attempt).update(
        state=Run.State.QUEUED, leased_until=None, sent_at=None, worker="", progress={}
    )
    if given:
        transaction.on_commit(lambda: messages.send(run_id=run_id), robust=True)
    return bool(given)


def postpone(*, run_id: int) -> None:
    """Leave a queued run to the next sweep: it was not begun. Costs no attempt."""
    Run.objects.filter(pk=run_id, state=Run.State.QUEUED).update(sent_at=None)


def finish(*, run_id: int, attempt: int, record_bytes: bytes) -> Record:
    """Check what was measured and conclude the run with it.

    Nothing in the bytes is believed before the digests match and the verdict was computed
    again from the raw samples. RecordRefused when it does not hold (the run has failed with
    that reason then); AttemptOver when another attempt has the run. Given the same bytes
    again, the stored record comes back and nothing changes.
    """
    run = Run.objects.select_related("benchmark", "solution").get(pk=run_id)
    try:
        believed = evidence.examine(run=run, content=record_bytes)
    except RecordRefused as refusal:
        fail(run_id=run_id, attempt=attempt, reason=str(refusal))
        raise
    if known := Record.objects.filter(digest=believed.digest).first():
        if known.run_id == run_id:
            return known
        raise _replayed(run_id, attempt, known)
    if (run.state, run.attempt) != (Run.State.RUNNING, attempt):
        raise AttemptOver(f"Attempt {attempt} no longer has run {run_id}.")
    # The file comes first: a file without a row is harmless, a row without a file is not.
    stored_as = storage.store(digest=believed.digest, content=believed.content)
    try:
        return _finished(run_id, attempt, believed, stored_as)
    except IntegrityError as error:
        # It was handed in for another run at the same moment.
        if known := Record.objects.filter(digest=believed.digest).first():
            raise _replayed(run_id, attempt, known) from error
        raise


def _finished(run_id: int, attempt: int, believed: evidence.Believed, stored_as: str) -> Record:
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=run_id)
        if (run.state, run.attempt) != (Run.State.RUNNING, attempt):
            raise AttemptOver(f"Attempt {attempt} no longer has run {run_id}.")
        record = Record.objects.create(
            run=run,
            attempt=attempt,
            file=stored_as,
            digest=believed.digest,
            **believed.figures(),
        )
        _conclude(run, state=Run.State.FINISHED)
    return record


def fail(*, run_id: int, attempt: int, reason: str) -> bool:
    """Conclude the run without a record; False when the attempt no longer has it.

    `reason` is for the person who has to act on it.
    """
    with transaction.atomic():
        run = _current(run_id, attempt).select_for_update().first()
        if run is None:
            return False
        run.failure_reason = readable(reason) or "The run failed without a reason."
        _conclude(run, state=Run.State.FAILED)
    return True


def _replayed(run_id: int, attempt: int, known: Record) -> RecordRefused:
    refusal = RecordRefused(f"This record was handed in before, for another run ({known.run_id}).")
    fail(run_id=run_id, attempt=attempt, reason=str(refusal))
    return refusal


def _conclude(run: Run, *, state: Run.State) -> None:
    run.state = state
    run.leased_until = None
    run.finished_at = timezone.now()
    run.save(update_fields=["state", "leased_until", "finished_at", "failure_reason"])
    signals.run_concluded.send(sender=Run, run=run)


def _current(run_id: int, attempt: int) -> QuerySet[Run]:
    return Run.objects.filter(pk=run_id, attempt=attempt, state=Run.State.RUNNING)


def _lease_end() -> Any:
    # The database's clock: workers' clocks may differ from each other.
    return Now() + timedelta(seconds=limits().lease_s)
