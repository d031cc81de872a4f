"""Claim a job for a worker, extend its lease, return it to the queue.

Every write after the claim names its attempt and is one conditional update: a stale attempt changes
nothing.
"""

from datetime import timedelta
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce, Now

from benchmarks.jobs import Job, JobState
from benchmarks.limits import limits
from benchmarks.services import messages
from benchmarks.text import readable

JobType = TypeVar("JobType", bound=Job)


def claimable() -> Q:
    """Queued jobs, and running ones whose lease expired while attempts remain.

    After the last attempt the sweep fails them.
    """
    lost = Q(state=JobState.RUNNING, leased_until__lt=Now(), attempt__lt=limits().attempts)
    return Q(state=JobState.QUEUED) | lost


def claim(rows: QuerySet[JobType], *, pk: int, worker: str, **changes: Any) -> JobType | None:
    """Claim a job for a new attempt with a lease; None when it is not claimable."""
    with transaction.atomic():
        taken = rows.filter(claimable(), pk=pk).update(
            state=JobState.RUNNING,
            attempt=F("attempt") + 1,
            leased_until=_lease_end(),
            worker=readable(worker, longest=200),
            progress={},
            started_at=Coalesce("started_at", Now()),
            **changes,
        )
        # The update still holds the row's lock, so this reads our own attempt.
        return rows.get(pk=pk) if taken else None


def heartbeat(model: type[Job], pk: int, attempt: int) -> bool:
    """Extend the lease; False when the attempt is stale and must stop."""
    return bool(current(model, pk, attempt).update(leased_until=_lease_end()))


def resume(model: type[Job], pk: int, attempt: int) -> bool:
    """Extend the lease, also of an attempt that was swept meanwhile and not claimed again.

    For runners, whose network may be down for longer than a lease. False when it is stale.
    """
    swept = model._default_manager.filter(pk=pk, attempt=attempt, state=JobState.QUEUED)
    if swept.update(state=JobState.RUNNING, leased_until=_lease_end()):
        return True
    return heartbeat(model, pk, attempt)


def expire(model: type[Job], pk: int, attempt: int) -> None:
    """End the lease of an attempt that was lost, so that the job may be claimed at once."""
    current(model, pk, attempt).update(leased_until=Now() - timedelta(seconds=1))


def requeue(model: type[Job], pk: int, attempt: int) -> bool:
    """Queue a job again because its worker is shutting down; False when the attempt is stale.

    A job may be requeued any number of times: only lost workers count toward the limit.
    """
    requeued = current(model, pk, attempt).update(
        state=JobState.QUEUED, leased_until=None, sent_at=None, worker="", progress={}
    )
    if requeued:
        messages.wake_worker_on_commit(model, pk)
    return bool(requeued)


def postpone(model: type[Job], pk: int) -> None:
    """Leave a queued job to the next sweep. Uses no attempt."""
    model._default_manager.filter(pk=pk, state=JobState.QUEUED).update(sent_at=None)


def current(model: type[JobType], pk: int, attempt: int) -> QuerySet[JobType]:
    """The job while this attempt has it, else no row."""
    return model._default_manager.filter(pk=pk, attempt=attempt, state=JobState.RUNNING)


def _lease_end() -> Any:
    # The database's clock: the clocks of workers may differ.
    return Now() + timedelta(seconds=limits().lease_s)
