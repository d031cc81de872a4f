"""Reads of runs and records for pages and documents."""

import statistics
from typing import Any

from django.db.models import Q

from benchmarks import storage
from benchmarks.errors import RecordUnreadable
from benchmarks.models import Record, Run
from benchmarks.records import records

_FORMER_RUNS = 10


def record_of(run: Run) -> dict[str, Any]:
    """The stored record of a run, its digest verified. Raises RecordUnreadable."""
    record = Record.objects.filter(run=run).first()
    if record is None:
        raise RecordUnreadable(f"Run {run.pk} has no record.", code="record.missing")
    try:
        data = records.load(storage.load(record))
        digest = records.digest_of(data)
    except ValueError as error:
        raise RecordUnreadable(
            f"The record of run {run.pk} is damaged: {error}.", code="record.damaged"
        ) from error
    if digest != record.digest:
        raise RecordUnreadable(
            f"The record of run {run.pk} was changed after it was stored.", code="record.changed"
        )
    return data


def usual_seconds(run: Run) -> float | None:
    """The median time of the benchmark's newest measured runs; None without one."""
    former = Run.objects.filter(
        benchmark=run.benchmark_id, state=Run.State.FINISHED, started_at__isnull=False
    ).order_by("-finished_at")
    took = [
        (finished - started).total_seconds()
        for started, finished in former.values_list("started_at", "finished_at")[:_FORMER_RUNS]
        if started and finished
    ]
    return statistics.median(took) if took else None


def queue_position(run: Run) -> int | None:
    """How many runs are ahead of this one; None when it is not queued."""
    if run.state != Run.State.QUEUED:
        return None
    earlier = Q(requested_at__lt=run.requested_at) | Q(requested_at=run.requested_at, pk__lt=run.pk)
    ahead = Q(state=Run.State.RUNNING) | (Q(state=Run.State.QUEUED) & earlier)
    same_machines = Run.objects.filter(measured_by=run.measured_by)
    return same_machines.filter(ahead).exclude(pk=run.pk).count()
