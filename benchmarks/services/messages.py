"""Wake a worker for a queued job.

The row is the truth and the message only wakes a worker: a lost message costs time, a
duplicate costs nothing.
"""

import logging
from collections.abc import Mapping
from datetime import datetime

from celery import current_app
from django.db import transaction
from django.db.models.functions import Now
from kombu.exceptions import OperationalError

from benchmarks.jobs import Job, JobState
from benchmarks.models import BenchmarkCheck, Run

logger = logging.getLogger(__name__)
TASKS: Mapping[type[Job], str] = {
    Run: "benchmarks.tasks.measure",
    BenchmarkCheck: "benchmarks.tasks.check_benchmark",
}


def wake_worker_on_commit(model: type[Job], pk: int) -> None:
    """Wake a worker once the current transaction commits."""
    transaction.on_commit(lambda: wake_worker(model, pk), robust=True)


def wake_worker(model: type[Job], pk: int, *, last_sent_at: datetime | None = None) -> bool:
    """Enqueue the task of a queued job; False while the broker is down.

    Only the caller that still finds `last_sent_at` on the row sends, so of two concurrent
    sweeps one does. While the broker is down `sent_at` stays empty for the next sweep.
    """
    queued = model._default_manager.filter(model.for_workers, pk=pk, state=JobState.QUEUED)
    if not queued.filter(sent_at=last_sent_at).update(sent_at=Now()):
        return True
    try:
        current_app.send_task(TASKS[model], (pk,), queue="gpu", retry=False)
    except Exception as error:
        queued.update(sent_at=None)
        if not isinstance(error, OperationalError | OSError):
            raise
        logger.warning("%s %s stays queued, the broker is down: %s", model.__name__, pk, error)
        return False
    return True
