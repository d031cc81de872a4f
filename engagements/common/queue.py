"""Enqueue tasks after commit."""

from __future__ import annotations

import logging

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)


def enqueue(task: str, *args: object) -> None:
    """Send `engagements.tasks.<task>` to a worker once the current transaction has committed.

    Tasks are addressed by name, so that services import none of them. A message that the broker
    does not accept is logged and dropped: the sweep finds the row again.
    """
    transaction.on_commit(lambda: send(task, *args), robust=True)


def send(task: str, *args: object) -> bool:
    """Send `engagements.tasks.<task>` now. False when the broker does not accept the message."""
    try:
        current_app.send_task(f"engagements.tasks.{task}", args=args, retry=False)
    except (OperationalError, OSError) as error:
        log.warning("%s%r was not sent, the broker does not answer: %s", task, args, error)
        return False
    return True
