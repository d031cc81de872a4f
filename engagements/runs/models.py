"""Runs of an engagement."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from benchmarks.models import Run, Verdict
from engagements.engagement.models import Engagement
from engagements.people.models import User
from engagements.runs.triggers import (
    ATTEMPT_LEFT,
    ATTEMPT_SEALED,
    CONCLUDED,
    FINAL,
    NOTICE_GIVEN,
    RECOUNTED,
    REPEATED,
)

COMMIT = r"^[0-9a-f]{7,64}$"


class EngagementRun(models.Model):
    """A run requested in an engagement.

    `concluded_at` is when the verdict of an acceptance run was applied to the contract, once.
    `attempt` numbers those that count against the contract's acceptance runs, and
    `is_noise_repeat` marks those repeated for noise instead. The final attempt decides: the one
    that met the target or used up the last attempt, or that a consultant declared final.
    `repeat_verdict` is that of a repeat which replaced the verdict of the record.
    """

    class Purpose(models.TextChoices):
        TRIAL = "trial", "Trial"
        ACCEPTANCE = "acceptance", "Acceptance"

    engagement = models.ForeignKey(Engagement, on_delete=models.PROTECT, related_name="runs")
    run = models.OneToOneField(Run, on_delete=models.PROTECT, related_name="+")
    contract_version = models.ForeignKey(
        "engagements.ContractVersion", on_delete=models.PROTECT, null=True, related_name="runs"
    )
    purpose = models.CharField(max_length=10, choices=Purpose)
    requested_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    concluded_at = models.DateTimeField(null=True, blank=True)
    attempt = models.PositiveSmallIntegerField(null=True, blank=True)
    is_noise_repeat = models.BooleanField(default=False)
    repeat_verdict = models.CharField(max_length=12, choices=Verdict, blank=True)
    final_at = models.DateTimeField(null=True, blank=True)
    commit = models.CharField(
        max_length=64, blank=True, help_text="Of the candidate's source, as its submitter named it."
    )
    declared_final_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["engagement"],
                condition=Q(purpose="acceptance", concluded_at__isnull=True),
                name="engagement_one_open_acceptance_run",
                violation_error_message="An acceptance run is already in progress.",
            ),
            models.CheckConstraint(
                condition=~Q(purpose="acceptance") | Q(contract_version__isnull=False),
                name="engagement_acceptance_run_names_its_contract",
                violation_error_message="An acceptance run requires a contract.",
            ),
            models.CheckConstraint(
                condition=Q(commit="") | Q(commit__regex=COMMIT),
                name="engagementrun_commit_is_hexadecimal",
                violation_error_message="Enter a commit as 7 to 64 hexadecimal digits.",
            ),
            models.UniqueConstraint(
                fields=["engagement", "attempt"],
                name="engagement_attempt_once",
                violation_error_message="This attempt belongs to another run.",
            ),
            models.CheckConstraint(
                condition=Q(attempt__isnull=True, final_at__isnull=True)
                | Q(
                    purpose="acceptance",
                    concluded_at__isnull=False,
                    attempt__gte=1,
                    is_noise_repeat=False,
                ),
                name="engagement_attempt_is_a_concluded_acceptance_run",
                violation_error_message="Only a concluded acceptance run is an attempt.",
            ),
            models.UniqueConstraint(
                fields=["engagement"],
                condition=Q(final_at__isnull=False),
                name="engagement_one_final_attempt",
                violation_error_message="Another attempt is final.",
            ),
            models.CheckConstraint(
                condition=Q(declared_final_by__isnull=True) | Q(final_at__isnull=False),
                name="engagement_final_attempt_is_dated",
                violation_error_message="A final attempt needs its date.",
            ),
        ]
        triggers: ClassVar = [
            ATTEMPT_LEFT,
            NOTICE_GIVEN,
            ATTEMPT_SEALED,
            CONCLUDED,
            RECOUNTED,
            FINAL,
            REPEATED,
        ]

    def __str__(self) -> str:
        return f"{self.purpose} {self.run}"
