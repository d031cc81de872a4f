"""Documents that could not be made, and why. The sweep retries each."""

from __future__ import annotations

from collections.abc import Collection

from django.utils import timezone

from engagements.common.queue import enqueue
from engagements.documents.models import DocumentFailure
from engagements.engagement.models import Engagement


def record(*, engagement: Engagement, kind: str, subject: str, title: str, reason: str) -> None:
    """Record or update the reason why this document could not be made."""
    DocumentFailure.objects.update_or_create(
        kind=kind,
        subject=subject,
        defaults={
            "engagement": engagement,
            "title": title,
            "reason": reason,
            "failed_at": timezone.now(),
        },
    )


def clear(*, kind: str, subject: str) -> None:
    """Delete the failure of a document that is issued."""
    DocumentFailure.objects.filter(kind=kind, subject=subject).delete()


def clear_all_except(due: Collection[tuple[str, str]]) -> None:
    """Delete failures of documents that are no longer due; `due` lists (kind, subject)."""
    for row in DocumentFailure.objects.all():
        if (row.kind, row.subject) not in due:
            row.delete()


def retry(failure: DocumentFailure) -> None:
    """Have a worker retry now instead of at the next sweep."""
    enqueue("issue_document", failure.kind, failure.subject)
