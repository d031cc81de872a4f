"""Runs of an engagement."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from benchmarks.models import Run, Verdict
from engagements.engagement.models import Engagement
from engagements.people.models import User
from engagements.runs.pairs import Decision
from engagements.runs.triggers import (
    ATTEMPT_LEFT,
    ATTEMPT_SEALED,
    CONCLUDED,
    COUNTERPART_HELD,
    DECIDED_BY_RECORDS,
    FINAL,
    NOTICE_GIVEN,
    PAIRED,
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
    `decision` is what its records decided, and `repeat_verdict` the verdict of a repeat that
    replaced it.

    Where the contract says that both parties measure, a request makes two runs: the acceptance run
    on the consultancy's machines, and its `counterpart` by the customer's runner. They are
    concluded together, and the acceptance run alone has a decision and an attempt.
    """

    class Purpose(models.TextChoices):
        TRIAL = "trial", "Trial"
        ACCEPTANCE = "acceptance", "Acceptance"
        COUNTERPART = "counterpart", "Customer’s acceptance"

    engagement = models.ForeignKey(Engagement, on_delete=models.PROTECT, related_name="runs")
    run = models.OneToOneField(Run, on_delete=models.PROTECT, related_name="+")
    contract_version = models.ForeignKey(
        "engagements.ContractVersion", on_delete=models.PROTECT, null=True, related_name="runs"
    )
    purpose = models.CharField(max_length=11, choices=Purpose)
    requested_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    concluded_at = models.DateTimeField(null=True, blank=True)
    attempt = models.PositiveSmallIntegerField(null=True, blank=True)
    is_noise_repeat = models.BooleanField(default=False)
    counterpart = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="acceptance"
    )
    decision = models.CharField(max_length=12, choices=Decision, blank=True)
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
                condition=Q(purpose="trial") | Q(contract_version__isnull=False),
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
            models.CheckConstraint(
                condition=Q(purpose="acceptance") | Q(counterpart__isnull=True, decision=""),
                name="engagementrun_acceptance_has_counterpart_and_decision",
                violation_error_message="Only an acceptance run has a counterpart.",
            ),
            models.CheckConstraint(
                condition=Q(decision="") | Q(concluded_at__isnull=False),
                name="engagementrun_is_decided_when_concluded",
                violation_error_message="A decided run is concluded.",
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
            PAIRED,
            COUNTERPART_HELD,
            DECIDED_BY_RECORDS,
        ]

    def __str__(self) -> str:
        return f"{self.purpose} {self.run}"

    @property
    def both(self) -> list[EngagementRun]:
        """The measurements of an acceptance run: by the consultancy, and by the customer if any."""
        return [self] if self.counterpart is None else [self, self.counterpart]

    @property
    def counts_as_missed(self) -> bool:
        """Whether an attempt counts as missed, although no record says that it missed."""
        return self.decision in (Decision.INCONCLUSIVE, Decision.DISAGREED, Decision.CRASHED)

    @property
    def request(self) -> EngagementRun:
        """The run that has the decision: of a counterpart, its acceptance run."""
        return self.acceptance if self.purpose == self.Purpose.COUNTERPART else self
