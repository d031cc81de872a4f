"""Read evidence: claim it, report progress, conclude with a summary or an error.

Every update after the claim is conditional on its attempt, so updates of earlier attempts are
ignored.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from benchmarks.text import readable
from engagements.common.queue import enqueue
from engagements.evidence import messages
from engagements.evidence import services as kept
from engagements.evidence.models import Evidence
from engagements.evidence.readers import EvidenceError, as_data, confined

log = logging.getLogger(__name__)

# Returns the kernel name patterns of an engagement (by its key) to sum exactly, by operator.
PatternsOf = Callable[[int], dict[str, str]]

LEASE = timedelta(seconds=60)
RESEND_AFTER = timedelta(seconds=120)
ATTEMPTS = 3
SENT_AT_ONCE = 200
LOST = (
    "The worker was lost {attempts} times while reading this file. Check its log and memory, then "
    "read the file again."
)


@dataclass(frozen=True)
class Claimed:
    """An attempt to read a file."""

    evidence: Evidence
    attempt: int


def read(*, evidence_id: int, patterns_of: PatternsOf = lambda _: {}) -> str:
    """Read a queued file; return the result as a word."""
    claimed = claim(evidence_id=evidence_id)
    if claimed is None:
        return "nothing to do"
    try:
        with kept.on_disk(claimed.evidence) as file:
            facts = confined.read(
                file,
                claimed.evidence.name,
                patterns=patterns_of(claimed.evidence.engagement_id),
                beat=lambda share: report(claimed, share),
            )
    except confined.Stopped:
        return "attempt over"
    except EvidenceError as error:
        return "unreadable" if give_up(claimed, reason=str(error)) else "attempt over"
    concluded = _current(claimed).update(
        state=Evidence.State.READ,
        format=facts.format,
        summary=as_data(facts),
        read_share=1.0,
        leased_until=None,
        concluded_at=Now(),
    )
    if not concluded:
        return "attempt over"
    enqueue("compute_findings", claimed.evidence.engagement_id)
    return "read"


def claim(*, evidence_id: int) -> Claimed | None:
    """Claim a file for a new attempt with a lease; None when it cannot be claimed."""
    lost = Q(state=Evidence.State.READING, leased_until__lt=Now(), attempt__lt=ATTEMPTS)
    row = Evidence.objects.filter(pk=evidence_id).first()
    if row is None:
        return None
    # Compare and swap: only one of two workers with the same attempt updates the row.
    taken = Evidence.objects.filter(
        Q(state=Evidence.State.QUEUED) | lost, pk=evidence_id, attempt=row.attempt
    ).update(
        state=Evidence.State.READING,
        attempt=F("attempt") + 1,
        leased_until=Now() + LEASE,
        read_share=0.0,
    )
    return Claimed(row, row.attempt + 1) if taken else None


def report(claimed: Claimed, share: float) -> bool:
    """Report the share read and extend the lease; False when the attempt is over."""
    bounded = min(max(share, 0.0), 1.0)
    return bool(_current(claimed).update(read_share=bounded, leased_until=Now() + LEASE))


def give_up(claimed: Claimed, *, reason: str) -> bool:
    """Conclude the file as unreadable; False when the attempt is over."""
    return bool(
        _current(claimed).update(
            state=Evidence.State.UNREADABLE,
            failure_reason=readable(reason) or "The file cannot be read.",
            leased_until=None,
            concluded_at=Now(),
        )
    )


def sweep() -> None:
    """Requeue files of lost workers and enqueue waiting ones. Idempotent."""
    lost = Evidence.objects.filter(state=Evidence.State.READING, leased_until__lt=Now())
    for row in lost.order_by("pk"):
        claimed = Claimed(row, row.attempt)
        log.warning("evidence %s: its worker was lost in attempt %s", row.pk, row.attempt)
        if row.attempt >= ATTEMPTS:
            give_up(claimed, reason=LOST.format(attempts=row.attempt))
        else:
            _current(claimed).filter(leased_until__lt=Now()).update(
                state=Evidence.State.QUEUED, leased_until=None, sent_at=None, read_share=0.0
            )
    waiting = Evidence.objects.filter(
        Q(sent_at__isnull=True) | Q(sent_at__lt=Now() - RESEND_AFTER),
        state=Evidence.State.QUEUED,
    )
    for pk in waiting.order_by("added_at", "pk").values_list("pk", flat=True)[:SENT_AT_ONCE]:
        if not messages.send(evidence_id=pk):
            # The broker does not answer: do not wait for it once per file.
            return


def _current(claimed: Claimed) -> QuerySet[Evidence]:
    return Evidence.objects.filter(
        pk=claimed.evidence.pk, state=Evidence.State.READING, attempt=claimed.attempt
    )
