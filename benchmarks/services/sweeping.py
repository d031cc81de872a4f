"""Revisit every unfinished run: enqueue queued ones again, requeue or fail lost ones."""

import logging
from dataclasses import dataclass
from datetime import timedelta

from django.db import DatabaseError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from benchmarks.limits import limits
from benchmarks.models import Run
from benchmarks.services import messages, runs

logger = logging.getLogger(__name__)
RESENT_AT_ONCE = 500


@dataclass
class Swept:
    """How many runs a sweep enqueued, requeued after a lost worker, and failed."""

    sent: int = 0
    requeued: int = 0
    failed: int = 0


def sweep() -> Swept:
    """Requeue lost runs and enqueue waiting ones. Idempotent and safe to run concurrently."""
    swept = Swept()
    lost = Run.objects.filter(state=Run.State.RUNNING, leased_until__lt=Now())
    for run_id in list(lost.order_by("pk").values_list("pk", flat=True)):
        try:
            _requeue_or_fail(run_id, swept)
        except DatabaseError:
            # One row that cannot be changed must not keep the others waiting.
            logger.exception("run %s could not be requeued", run_id)
    _enqueue_waiting(swept)
    return swept


def _requeue_or_fail(run_id: int, swept: Swept) -> None:
    with transaction.atomic():
        run = (
            Run.objects.select_for_update(skip_locked=True)
            .filter(pk=run_id, state=Run.State.RUNNING, leased_until__lt=Now())
            .first()
        )
        if run is None:
            return
        logger.warning("run %s: worker %s was lost in attempt %s", run_id, run.worker, run.attempt)
        if run.attempt >= limits().attempts:
            swept.failed += runs.fail(run_id=run_id, attempt=run.attempt, reason=_reason(run))
            return
        run.state = Run.State.QUEUED
        run.leased_until = run.sent_at = None
        run.progress = {}
        run.save(update_fields=["state", "leased_until", "sent_at", "progress"])
        swept.requeued += 1


def _enqueue_waiting(swept: Swept) -> None:
    old = Now() - timedelta(seconds=limits().resend_after_s)
    waiting = Run.objects.filter(
        Q(sent_at__isnull=True) | Q(sent_at__lt=old), state=Run.State.QUEUED
    )
    rows = waiting.order_by("requested_at", "pk").values_list("pk", "sent_at")
    for run_id, sent_at in list(rows[:RESENT_AT_ONCE]):
        if not messages.wake_worker(run_id=run_id, last_sent_at=sent_at):
            # The broker is down; every further run would wait for its timeout, too.
            return
        swept.sent += 1


def _reason(run: Run) -> str:
    return (
        f"The worker was lost in each of {run.attempt} attempts. Check the log and the memory of "
        f"{run.worker or 'the machine'}, then request the run again."
    )
