"""Enqueue the reading of evidence."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now

from engagements.common import queue
from engagements.evidence.models import Evidence


def send(*, evidence_id: int) -> bool:
    """Enqueue a file now. False when the broker does not accept the message."""
    queued = Evidence.objects.filter(pk=evidence_id, state=Evidence.State.QUEUED)
    if not queued.update(sent_at=Now()):
        return True
    if queue.send("read_evidence", evidence_id):
        return True
    # Without a message in the queue, the row must not have a time of sending.
    queued.update(sent_at=None)
    return False


def send_after_commit(evidence_id: int) -> None:
    """Enqueue a file once the current transaction has committed."""
    transaction.on_commit(lambda: send(evidence_id=evidence_id), robust=True)
