"""Documents that could not be made: why, for those who can mend it. The sweep tries each again."""

from __future__ import annotations

from collections.abc import Collection

from django.utils import timezone

from engagements.common.queue import enqueue
from engagements.documents.models import DocumentFailure
from engagements.engagement.models import Engagement


def note(*, engagement: Engagement, kind: str, subject: str, title: str, reason: str) -> None:
    """Say why this document was not made; tried again in vain, it says so once."""
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


def end(*, kind: str, subject: str) -> None:
    """It is made."""
    DocumentFailure.objects.filter(kind=kind, subject=subject).delete()


def forget_all_but(wanted: Collection[tuple[str, str]]) -> None:
    """Forget those that nobody waits for any more: only these (kind, subject) are still due."""
    for row in DocumentFailure.objects.all():
        if (row.kind, row.subject) not in wanted:
            row.delete()


def try_again(failure: DocumentFailure) -> None:
    """Have a worker try at once what the sweep would try later."""
    enqueue("issue_document", failure.kind, failure.subject)
