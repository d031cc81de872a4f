"""Runs of an engagement."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from benchmarks.models import Run
from engagements.engagement.models import Engagement
from engagements.people.models import User


class EngagementRun(models.Model):
    """A run requested in an engagement.

    An acceptance run decides the contract. `concluded_at` is when its verdict was applied to the
    contract, once.
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
        ]

    def __str__(self) -> str:
        return f"{self.purpose} {self.run}"
