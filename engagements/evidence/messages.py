"""Wake a worker for evidence that is to be read."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now

from engagements.common import queue
from engagements.evidence.models import Evidence


def send(*, evidence_id: int) -> bool:
    """Wake a worker for a queued file. False when the broker does not accept the message."""
    queued = Evidence.objects.filter(pk=evidence_id, state=Evidence.State.QUEUED)
    if not queued.update(sent_at=Now()):
        return True
    if queue.send("read_evidence", evidence_id):
        return True
    # The row must not say that a message is under way.
    queued.update(sent_at=None)
    return False


def send_after_commit(evidence_id: int) -> None:
    """Wake a worker once the current transaction has committed."""
    transaction.on_commit(lambda: send(evidence_id=evidence_id), robust=True)
