"""Wake a worker for a queued run.

The row is the truth and the message only wakes a worker: a lost message costs time, a
duplicate costs nothing.
"""

import logging
from datetime import datetime

from celery import current_app
from django.db import transaction
from django.db.models.functions import Now
from kombu.exceptions import OperationalError

from benchmarks.models import Run

logger = logging.getLogger(__name__)
TASK = "benchmarks.tasks.measure"


def wake_worker_on_commit(run_id: int) -> None:
    """Wake a worker once the current transaction commits."""
    transaction.on_commit(lambda: wake_worker(run_id=run_id), robust=True)


def wake_worker(*, run_id: int, last_sent_at: datetime | None = None) -> bool:
    """Enqueue the measuring task for a queued run; False while the broker is down.

    Only the caller that still finds `last_sent_at` on the row sends, so of two concurrent
    sweeps one does. While the broker is down `sent_at` stays empty for the next sweep.
    """
    queued = Run.objects.filter(pk=run_id, state=Run.State.QUEUED)
    if not queued.filter(sent_at=last_sent_at).update(sent_at=Now()):
        return True
    try:
        current_app.send_task(TASK, (run_id,), queue="gpu", retry=False)
    except Exception as error:
        queued.update(sent_at=None)
        if not isinstance(error, OperationalError | OSError):
            raise
        logger.warning("run %s stays queued, the broker is down: %s", run_id, error)
        return False
    return True
