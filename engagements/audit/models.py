"""The audit and its findings, one a check."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from benchmarks.triggers import CHANGES, Protect
from engagements.audit.rules import CHECKS
from engagements.audit.rules import finding as findings
from engagements.audit.rules import verdict as verdicts
from engagements.audit.rules.advice import Verdict
from engagements.audit.triggers import FREEZE_FINDINGS
from engagements.engagement.models import Engagement
from engagements.people.models import User


def check_choices() -> list[tuple[str, str]]:
    """Return every check's name with its question, in order."""
    return [(check.name, check.question) for check in CHECKS]


class FindingOutcome(models.TextChoices):
    PASS = "pass", "Pass"
    FAIL = "fail", "Fail"
    UNKNOWN = "unknown", "Unknown"


class Audit(models.Model):
    """The audit of a workload. `cost` is net, in `currency`, and not refunded after a miss.

    `outcome` is computed from the findings on delivery: four passes are custom work, two or
    three redirect, fewer decline. `subject` holds the operator, its needs, the work and the
    libraries tried, `thresholds` those that differ from the defaults, both in the form of
    `audit.subjects`. `computed_from` is a digest of the inputs of the latest computation, and
    `verdict` its result, overrides counted.
    """

    class Outcome(models.TextChoices):
        CUSTOM = "custom", "Custom kernel work may be right"
        REDIRECT = "redirect", "Redirect to cheaper interventions"
        DECLINE = "decline", "Decline"

    engagement = models.OneToOneField(Engagement, on_delete=models.PROTECT, related_name="audit")
    cost = models.DecimalField(max_digits=14, decimal_places=3)
    currency = models.CharField(max_length=3)
    started_at = models.DateTimeField(default=timezone.now, editable=False)
    outcome = models.CharField(max_length=10, choices=Outcome, blank=True)
    delivered_at = models.DateTimeField(null=True, blank=True)
    subject = models.JSONField(default=dict, blank=True)
    thresholds = models.JSONField(default=dict, blank=True)
    computed_at = models.DateTimeField(null=True, blank=True)
    computed_from = models.CharField(max_length=71, blank=True)
    verdict = models.JSONField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(cost__gte=0),
                name="audit_cost_is_not_negative",
                violation_error_message="Enter a cost of 0 or more.",
            ),
            models.CheckConstraint(
                condition=(Q(outcome="") & Q(delivered_at__isnull=True))
                | (~Q(outcome="") & Q(delivered_at__isnull=False)),
                name="audit_has_an_outcome_exactly_when_delivered",
                violation_error_message="An audit has an outcome exactly when it is delivered.",
            ),
            models.CheckConstraint(
                condition=Q(computed_from="", computed_at__isnull=True)
                | Q(computed_from__regex=r"^sha256:[0-9a-f]{64}$", computed_at__isnull=False),
                name="audit_says_what_it_was_computed_from",
                violation_error_message="Computed findings have a time and an input digest.",
            ),
        ]
        triggers: ClassVar = [
            Protect(
                name="delivered",
                operation=CHANGES,
                condition=pgtrigger.Q(old__delivered_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"audit of {self.engagement}"

    @property
    def computed_verdict(self) -> Verdict | None:
        """The latest computed verdict; None before, or by an older version."""
        if self.verdict is None:
            return None
        try:
            return verdicts.from_data(self.verdict)
        except ValueError:
            return None


class Finding(models.Model):
    """One check's outcome with its value and rationale, and its override.

    `computed` is the finding from evidence, as `engagements.audit.rules` stores it; its pass or
    fail is the outcome. `found_by` is None where the outcome was computed, else its author.
    An override is proposed by one consultant and counts once another confirmed it.
    """

    audit = models.ForeignKey(Audit, on_delete=models.PROTECT, related_name="findings")
    check_name = models.CharField("check", max_length=16, choices=check_choices)
    outcome = models.CharField(max_length=8, choices=FindingOutcome, default=FindingOutcome.UNKNOWN)
    value = models.CharField(max_length=200, blank=True)
    rationale = models.TextField(blank=True)
    found_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    found_at = models.DateTimeField(null=True, blank=True)
    computed = models.JSONField(null=True, blank=True)
    override_outcome = models.CharField(max_length=8, choices=FindingOutcome, blank=True)
    override_reason = models.TextField(blank=True)
    overridden_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    override_confirmed_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, related_name="+"
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["audit", "check_name"],
                name="finding_once_a_check",
                violation_error_message="This check already has a finding.",
            ),
            models.CheckConstraint(
                condition=Q(outcome="unknown") | (~Q(value="") & ~Q(rationale="")),
                name="finding_known_has_value_and_rationale",
                violation_error_message="Enter a value and a rationale for a pass or a fail.",
            ),
            models.CheckConstraint(
                condition=Q(override_outcome="", override_reason="", overridden_by__isnull=True)
                | (
                    ~Q(override_outcome="")
                    & ~Q(override_reason="")
                    & Q(overridden_by__isnull=False)
                ),
                name="finding_override_has_a_reason_and_a_name",
                violation_error_message="Enter a reason for the override.",
            ),
            models.CheckConstraint(
                condition=Q(override_confirmed_by__isnull=True)
                | (~Q(override_outcome="") & ~Q(override_confirmed_by=F("overridden_by"))),
                name="finding_override_is_confirmed_by_another",
                violation_error_message="Another consultant confirms an override.",
            ),
        ]
        triggers: ClassVar = [
            FREEZE_FINDINGS,
        ]

    def __str__(self) -> str:
        return f"{self.check_name}: {self.effective_outcome}"

    @property
    def computed_finding(self) -> findings.Finding | None:
        """The finding from evidence; None without one, or by an older version of the checks."""
        if self.computed is None:
            return None
        try:
            return findings.from_data(self.computed)
        except ValueError:
            return None

    @property
    def is_by_hand(self) -> bool:
        """Whether a person answered this check."""
        return self.found_by_id is not None

    @property
    def is_overridden(self) -> bool:
        """Whether an override counts: a second consultant confirmed it."""
        return self.override_confirmed_by_id is not None

    @property
    def is_override_open(self) -> bool:
        """Whether an override waits for its confirmation."""
        return bool(self.override_outcome) and not self.is_overridden

    @property
    def effective_outcome(self) -> str:
        """The confirmed override where there is one, the finding's own outcome else."""
        return self.override_outcome if self.is_overridden else self.outcome

    def clear_override(self) -> None:
        """Remove the override, proposed or confirmed. The caller saves."""
        self.override_outcome, self.override_reason = "", ""
        self.overridden_by = self.override_confirmed_by = None
