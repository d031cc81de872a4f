"""Revisit every unfinished job: enqueue queued ones again, requeue or fail lost ones."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.db import DatabaseError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from benchmarks.jobs import Job, JobState
from benchmarks.limits import limits
from benchmarks.models import BenchmarkCheck, Run
from benchmarks.records.failure_codes import FailureCode
from benchmarks.services import checks, messages, runs

logger = logging.getLogger(__name__)
RESENT_AT_ONCE = 500
# Fails a lost job: its key, attempt and the reason.
FAIL: Mapping[type[Job], Callable[[int, int, str], bool]] = {
    Run: lambda pk, attempt, reason: runs.fail(
        run_id=pk, attempt=attempt, code=FailureCode.INTERRUPTED, reason=reason
    ),
    BenchmarkCheck: lambda pk, attempt, reason: checks.fail(
        check_id=pk, attempt=attempt, reason=reason
    ),
}


@dataclass
class Swept:
    """How many jobs a sweep enqueued, requeued after a lost worker, and failed."""

    sent: int = 0
    requeued: int = 0
    failed: int = 0


def sweep() -> Swept:
    """Requeue lost jobs and enqueue waiting ones. Idempotent and safe to run concurrently."""
    swept = Swept()
    for model in FAIL:
        lost = model._default_manager.filter(state=JobState.RUNNING, leased_until__lt=Now())
        for pk in list(lost.order_by("pk").values_list("pk", flat=True)):
            try:
                _requeue_or_fail(model, pk, swept)
            except DatabaseError:
                # One row that cannot be changed must not keep the others waiting.
                logger.exception("%s %s could not be requeued", model.__name__, pk)
    _give_up_unclaimed(swept)
    for model in FAIL:
        if not _enqueue_waiting(model, swept):
            # The broker is down; every further job would wait for its timeout, too.
            break
    return swept


def _give_up_unclaimed(swept: Swept) -> None:
    """Fail runs that no runner of their customer has claimed for too long."""
    days = limits().unclaimed_s / 86_400
    old = Now() - timedelta(seconds=limits().unclaimed_s)
    unclaimed = Run.objects.exclude(Run.for_workers).filter(
        state=JobState.QUEUED, requested_at__lt=old
    )
    for pk in list(unclaimed.order_by("pk").values_list("pk", flat=True)):
        reason = (
            f"No runner of the customer claimed this run within {days:g} days. Start the runner, "
            "then request the run again."
        )
        swept.failed += runs.give_up(run_id=pk, reason=reason)


def _requeue_or_fail(model: type[Job], pk: int, swept: Swept) -> None:
    with transaction.atomic():
        job = (
            model._default_manager.select_for_update(skip_locked=True)
            .filter(pk=pk, state=JobState.RUNNING, leased_until__lt=Now())
            .first()
        )
        if job is None:
            return
        logger.warning("%s: worker %s was lost in attempt %s", job, job.worker, job.attempt)
        if job.attempt >= limits().attempts:
            swept.failed += FAIL[model](pk, job.attempt, _reason(job))
            return
        job.state = JobState.QUEUED
        job.leased_until = job.sent_at = None
        job.progress = {}
        job.save(update_fields=["state", "leased_until", "sent_at", "progress"])
        swept.requeued += 1


def _enqueue_waiting(model: type[Job], swept: Swept) -> bool:
    """Enqueue what waits; False while the broker is down."""
    old = Now() - timedelta(seconds=limits().resend_after_s)
    waiting = model._default_manager.filter(
        model.for_workers,
        Q(sent_at__isnull=True) | Q(sent_at__lt=old),
        state=JobState.QUEUED,
    )
    rows = waiting.order_by("requested_at", "pk").values_list("pk", "sent_at")
    for pk, sent_at in list(rows[:RESENT_AT_ONCE]):
        if not messages.wake_worker(model, pk, last_sent_at=sent_at):
            return False
        swept.sent += 1
    return True


def _reason(job: Job) -> str:
    return (
        f"The worker was lost in each of {job.attempt} attempts. Check the log and the memory of "
        f"{job.worker or 'the machine'}, then request it again."
    )
