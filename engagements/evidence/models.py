"""Evidence files with their facts, and answers of the questionnaire."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.models import Solution, place_of_records
from benchmarks.triggers import FSM, AppendOnly, Protect, ReadOnly
from engagements.engagement.models import Engagement
from engagements.evidence.triggers import CANDIDATE
from engagements.people.models import User


class Evidence(models.Model):
    """A profile or traffic log, stored unchanged, with the summary of its facts.

    A worker claims the row by increasing `attempt` and setting `leased_until`; updates of earlier
    attempts are ignored. `summary` holds facts of `engagements.evidence.readers`, not events.
    Without `added_by` the file was added by command line, by `added_by_name`. A profile of a
    `candidate` is shown at its runs; the audit reads those of the customer's workload, which have
    none. A withdrawn row keeps name, digest and reason as a tombstone, without facts; its bytes are
    deleted.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        READING = "reading", "Reading"
        READ = "read", "Read"
        UNREADABLE = "unreadable", "Unreadable"
        WITHDRAWN = "withdrawn", "Withdrawn"

    class Format(models.TextChoices):
        CHROME_TRACE = "chrome_trace", "PyTorch profiler trace"
        NSIGHT_SYSTEMS = "nsight_systems", "Nsight Systems export"
        NSIGHT_COMPUTE = "nsight_compute", "Nsight Compute export"
        TRAFFIC = "traffic", "Shape traffic"

    engagement = models.ForeignKey(Engagement, on_delete=models.PROTECT, related_name="evidence")
    name = models.CharField(max_length=200, help_text="File name of the upload.")
    file = models.FileField(storage=place_of_records, max_length=200)
    digest = models.CharField(max_length=71)
    size_bytes = models.PositiveBigIntegerField()
    added_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    added_by_name = models.CharField(max_length=160)
    added_at = models.DateTimeField(default=timezone.now, editable=False)
    candidate = models.ForeignKey(
        Solution, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    attempt = models.PositiveIntegerField(default=0)
    leased_until = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    read_share = models.FloatField(default=0.0, help_text="Progress of reading, 0 to 1.")
    format = models.CharField(max_length=16, choices=Format, blank=True)
    summary = models.JSONField(null=True, blank=True)
    failure_reason = models.TextField(blank=True)
    concluded_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    withdrawal_reason = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["-added_at", "-pk"]
        verbose_name_plural = "evidence"
        indexes: ClassVar = [
            models.Index(
                fields=["state", "leased_until"],
                name="evidence_to_sweep",
                condition=Q(state__in=["queued", "reading"]),
            ),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["engagement", "digest"],
                condition=~Q(state="withdrawn"),
                name="evidence_is_kept_once",
                violation_error_message="This file was already added.",
            ),
            models.CheckConstraint(
                condition=Q(digest__regex=r"^sha256:[0-9a-f]{64}$", size_bytes__gt=0),
                name="evidence_has_a_digest",
                violation_error_message="A file requires at least one byte and its SHA-256.",
            ),
            models.CheckConstraint(
                condition=Q(read_share__gte=0, read_share__lte=1),
                name="evidence_is_read_by_shares",
                violation_error_message="The progress of reading is from 0 to 1.",
            ),
            models.CheckConstraint(
                condition=Q(state="reading", leased_until__isnull=False, attempt__gte=1)
                | (~Q(state="reading") & Q(leased_until__isnull=True)),
                name="evidence_has_a_lease_exactly_while_read",
                violation_error_message="A file has a lease exactly while it is being read.",
            ),
            models.CheckConstraint(
                condition=Q(state="read", summary__isnull=False, concluded_at__isnull=False)
                & ~Q(format="")
                | Q(state="unreadable", summary__isnull=True, concluded_at__isnull=False)
                & ~Q(failure_reason="")
                | Q(state__in=["queued", "reading"], summary__isnull=True)
                & Q(concluded_at__isnull=True)
                | Q(state="withdrawn", summary__isnull=True, concluded_at__isnull=False),
                name="evidence_has_a_summary_exactly_when_read",
                violation_error_message="A file has a summary exactly when it was read, and a "
                "reason exactly when it is unreadable.",
            ),
            models.CheckConstraint(
                condition=Q(state="withdrawn", withdrawn_by__isnull=False)
                & ~Q(withdrawal_reason="")
                | ~Q(state="withdrawn") & Q(withdrawn_by__isnull=True, withdrawal_reason=""),
                name="evidence_withdrawn_by_somebody_for_a_reason",
                violation_error_message="A withdrawal needs a person and a reason.",
            ),
        ]
        triggers: ClassVar = [
            Protect(name="deletion", operation=pgtrigger.Delete),
            ReadOnly(
                name="original",
                fields=[
                    "engagement",
                    "name",
                    "file",
                    "digest",
                    "size_bytes",
                    "added_by",
                    "added_by_name",
                    "added_at",
                ],
            ),
            FSM(
                "state",
                {
                    "queued": {"reading", "withdrawn"},
                    "reading": {"queued", "read", "unreadable", "withdrawn"},
                    "read": {"queued", "withdrawn"},
                    "unreadable": {"queued", "withdrawn"},
                },
            ),
            CANDIDATE,
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_concluded(self) -> bool:
        """Whether reading has ended, with facts or an error."""
        return self.state in (self.State.READ, self.State.UNREADABLE)


class Answer(models.Model):
    """An answer to a question of the questionnaire. Append-only: the newest one counts.

    `value` has the format of `engagements.evidence.readers.questions`. `answered_by` is its author,
    `answered_on` its date; `recorded_by` entered it.
    """

    class Question(models.TextChoices):
        ROADMAP = "roadmap", "Which models come next, and when?"
        MAINTAINERS = "maintainers", "Who will maintain the kernel, with how many hours a month?"
        GPU_GENERATIONS = "gpu_generations", "Which GPU generations are planned, and when?"
        TAIL_LATENCY = "tail_latency", "Is there a tail-latency target?"
        GPU_BILL = "gpu_bill", "What does the workload's GPU time cost a month?"

    engagement = models.ForeignKey(Engagement, on_delete=models.PROTECT, related_name="answers")
    question = models.CharField(max_length=16, choices=Question)
    value = models.JSONField()
    note = models.TextField(blank=True)
    answered_by = models.CharField(max_length=160)
    answered_on = models.DateField()
    recorded_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    recorded_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-recorded_at", "-pk"]
        indexes: ClassVar = [
            models.Index(fields=["engagement", "question", "-recorded_at"], name="answer_newest"),
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=~Q(answered_by=""),
                name="answer_has_an_author",
                violation_error_message="Enter the person who gave the answer.",
            ),
        ]
        triggers: ClassVar = [
            AppendOnly(),
        ]

    def __str__(self) -> str:
        return f"{self.question}: {self.answered_by}, {self.answered_on}"
