"""Jobs of minutes on the queue gpu: rows with a lease."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import Protect


class JobState(models.TextChoices):
    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    FINISHED = "finished", "Finished"
    FAILED = "failed", "Failed"


class Job(models.Model):
    """A job of the queue gpu. Abstract.

    The row is the truth; a message only wakes a worker. A worker claims the row by raising
    `attempt` and setting `leased_until`; writes of a stale attempt are ignored. `for_workers` are
    the jobs that workers of the queue are woken for.
    """

    State = JobState
    for_workers: ClassVar[Q] = Q()

    request_key = models.UUIDField(unique=True)
    state = models.CharField(max_length=10, choices=JobState, default=JobState.QUEUED)
    attempt = models.PositiveIntegerField(default=0)
    leased_until = models.DateTimeField(null=True, blank=True)
    worker = models.CharField(max_length=200, blank=True)
    progress = models.JSONField(default=dict, blank=True)
    failure_reason = models.TextField(blank=True)
    requested_at = models.DateTimeField(default=timezone.now, editable=False)
    sent_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True
        ordering: ClassVar = ["-requested_at", "-pk"]
        indexes: ClassVar = [
            models.Index(
                fields=["state", "leased_until"],
                name="%(class)s_to_sweep",
                condition=Q(state__in=["queued", "running"]),
            ),
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(state="running", leased_until__isnull=False, attempt__gte=1)
                | (~Q(state="running") & Q(leased_until__isnull=True)),
                name="%(class)s_has_a_lease_exactly_while_running",
                violation_error_message="A run has a lease exactly while it is running.",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["finished", "failed"], finished_at__isnull=False)
                | (~Q(state__in=["finished", "failed"]) & Q(finished_at__isnull=True)),
                name="%(class)s_is_dated_when_concluded",
                violation_error_message="A concluded run has a date, an open one has none.",
            ),
            models.CheckConstraint(
                condition=(~Q(state="failed")) | ~Q(failure_reason=""),
                name="%(class)s_fails_with_a_reason",
                violation_error_message="A failed run needs a reason.",
            ),
        ]

    @property
    def is_concluded(self) -> bool:
        return self.state in (JobState.FINISHED, JobState.FAILED)


JOB_TRIGGERS = (
    Protect(name="deletion", operation=pgtrigger.Delete),
    Protect(
        name="concluded",
        operation=pgtrigger.Update,
        condition=pgtrigger.Q(old__state__in=["finished", "failed"]),
    ),
    Protect(
        name="attempt",
        operation=pgtrigger.Update,
        condition=pgtrigger.Condition("NEW.attempt < OLD.attempt"),
    ),
)
