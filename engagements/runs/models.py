"""The runs that are requested in an engagement."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from benchmarks.models import Run
from engagements.engagement.models import Engagement
from engagements.people.models import User


class EngagementRun(models.Model):
    """A run that somebody asked for in an engagement.

    An acceptance run decides the contract. `concluded_at` says when its verdict was turned
    into what the contract makes of it, once.
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
                violation_error_message="An acceptance run is under way already.",
            ),
            models.CheckConstraint(
                condition=~Q(purpose="acceptance") | Q(contract_version__isnull=False),
                name="engagement_acceptance_run_names_its_contract",
                violation_error_message="An acceptance run is measured under a contract.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} {self.run}"
