"""What is handed to the workers once the transaction that wants it has committed."""

from __future__ import annotations

from functools import partial

from django.db import transaction


def issue_document(kind: str, subject: str) -> None:
    """Have a document issued. A message that gets lost is made good by the sweep."""
    transaction.on_commit(partial(_send, kind, subject), robust=True)


def _send(kind: str, subject: str) -> None:
    # The tasks call the services, so this one looks back at call time.
    from engagements.tasks import issue_document as task

    task.delay(kind, subject)
