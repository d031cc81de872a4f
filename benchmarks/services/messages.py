"""Sending the messages that wake a worker for a run.

The row is the truth and the message only wakes a worker, so a message that is lost costs
time and one that comes twice costs nothing.
"""

import logging
from datetime import datetime

from django.db.models.functions import Now
from kombu.exceptions import OperationalError

from benchmarks.models import Run

logger = logging.getLogger(__name__)


def send(*, run_id: int, last_sent_at: datetime | None = None) -> bool:
    """Wake a worker for a queued run; False when the broker did not take the message.

    Only the caller that still finds `last_sent_at` on the row sends, so of two sweeps at
    once one does. A broker that is down leaves `sent_at` empty for the next sweep.
    """
    from benchmarks.tasks import measure

    queued = Run.objects.filter(pk=run_id, state=Run.State.QUEUED)
    if not queued.filter(sent_at=last_sent_at).update(sent_at=Now()):
        return True
    try:
        measure.apply_async((run_id,), queue="gpu", retry=False)
    except Exception as error:
        # Whatever it was, the row must not say that a message is under way.
        queued.update(sent_at=None)
        if not isinstance(error, OperationalError | OSError):
            raise
        logger.warning("run %s stays queued, the broker does not answer: %s", run_id, error)
        return False
    return True
