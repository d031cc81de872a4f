"""Reads that pages and documents need of runs and records."""

from typing import Any

from django.db.models import Q

from benchmarks import storage
from benchmarks.errors import RecordUnreadable
from benchmarks.harness.records import records
from benchmarks.models import Record, Run


def record_of(run: Run) -> dict[str, Any]:
    """The run's record as it was believed on arrival, its digest checked again.

    RecordUnreadable when the run has none, or when storage no longer holds those bytes.
    """
    record = Record.objects.filter(run=run).first()
    if record is None:
        raise RecordUnreadable(f"Run {run.pk} has no record.")
    try:
        data = records.load(storage.load(record))
        digest = records.digest_of(data)
    except ValueError as error:
        raise RecordUnreadable(f"The record of run {run.pk} is damaged: {error}.") from error
    if digest != record.digest:
        raise RecordUnreadable(f"The record of run {run.pk} is not the one that was stored.")
    return data


def queue_position(run: Run) -> int | None:
    """How many runs are measured before this one; None when it does not wait."""
    if run.state != Run.State.QUEUED:
        return None
    earlier = Q(requested_at__lt=run.requested_at) | Q(requested_at=run.requested_at, pk__lt=run.pk)
    ahead = Q(state=Run.State.RUNNING) | (Q(state=Run.State.QUEUED) & earlier)
    return Run.objects.filter(ahead).exclude(pk=run.pk).count()
