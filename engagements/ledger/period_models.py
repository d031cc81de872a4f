"""Closed months, their totals and their reopening."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import FSM, Protect, ReadOnly, WrittenByTriggers
from engagements.ledger.models import Account
from engagements.ledger.period_triggers import CHECK_CLOSING, CHECK_REOPENED, TOTAL_PERIOD
from engagements.people.models import User
from engagements.people.triggers import second_person


class Period(models.Model):
    """A closed month, which closes all earlier ones: proposed by one person, closed by another.

    `checklist` holds the label and the number of open items of each check at the proposal, and
    `note` explains the open ones. A reopened month may be closed again, by another row.
    """

    class State(models.TextChoices):
        PROPOSED = "proposed", "Proposed"
        CLOSED = "closed", "Closed"
        REOPENED = "reopened", "Reopened"
        VOIDED = "voided", "Voided"

    month = models.DateField(help_text="The first day of the month.")
    state = models.CharField(max_length=8, choices=State, default=State.PROPOSED)
    checklist = models.JSONField(default=list, blank=True)
    note = models.TextField(blank=True)
    proposed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField(default=timezone.now, editable=False)
    closed_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-month", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["month"],
                condition=Q(state__in=["proposed", "closed"]),
                name="period_once_a_month",
                violation_error_message="This month is closed, or its closing is proposed.",
            ),
            models.CheckConstraint(
                condition=Q(month__day=1),
                name="period_is_a_month",
                violation_error_message="A period starts on the first day of a month.",
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=["proposed", "voided"], closed_by__isnull=True, closed_at__isnull=True
                )
                | Q(
                    state__in=["closed", "reopened"],
                    closed_by__isnull=False,
                    closed_at__isnull=False,
                ),
                name="period_is_closed_by_a_person",
                violation_error_message="A second person closes a month.",
            ),
        ]
        triggers: ClassVar = [
            Protect(name="deletion", operation=pgtrigger.Delete),
            Protect(
                name="start",
                operation=pgtrigger.Insert,
                condition=~pgtrigger.Q(new__state="proposed"),
            ),
            FSM("state", {"proposed": {"closed", "voided"}, "closed": {"reopened"}}),
            ReadOnly(name="terms", exclude=["state", "closed_by", "closed_at"]),
            Protect(
                name="closed",
                operation=pgtrigger.Update,
                condition=pgtrigger.Condition(
                    "OLD.state <> 'proposed' AND (OLD.closed_by_id, OLD.closed_at)"
                    " IS DISTINCT FROM (NEW.closed_by_id, NEW.closed_at)"
                ),
            ),
            second_person(
                name="closed_by_another",
                code="period.closed_by_another",
                by="NEW.closed_by_id",
                others=("NEW.proposed_by_id",),
                subject="'period:' || NEW.id",
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(new__state="closed"),
            ),
            CHECK_CLOSING,
            CHECK_REOPENED,
            TOTAL_PERIOD,
        ]

    def __str__(self) -> str:
        return f"closing of {self.month:%B %Y}"

    @property
    def subject(self) -> str:
        """Its name in approvals of a sole owner."""
        return f"period:{self.pk}"

    @property
    def open_items(self) -> list[tuple[str, int]]:
        """The checks that were not done at the proposal, with their number of open items."""
        return [(label, count) for label, count in self.checklist if count]


class PeriodReopening(models.Model):
    """The reopening of the latest closed month: proposed by one person, approved by another."""

    class State(models.TextChoices):
        PROPOSED = "proposed", "Proposed"
        POSTED = "posted", "Reopened"
        VOIDED = "voided", "Voided"

    period = models.ForeignKey(Period, on_delete=models.PROTECT, related_name="reopenings")
    reason = models.TextField()
    state = models.CharField(max_length=8, choices=State, default=State.PROPOSED)
    proposed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField(default=timezone.now, editable=False)
    approved_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["period"],
                condition=~Q(state="voided"),
                name="period_reopening_once",
                violation_error_message="The reopening of this month is already proposed.",
            ),
            models.CheckConstraint(
                condition=~Q(reason=""),
                name="period_reopening_says_why",
                violation_error_message="A reopening needs a reason.",
            ),
            models.CheckConstraint(
                condition=Q(state="posted", approved_by__isnull=False, ended_at__isnull=False)
                | Q(state="proposed", approved_by__isnull=True, ended_at__isnull=True)
                | Q(state="voided", approved_by__isnull=True, ended_at__isnull=False),
                name="period_reopening_is_approved",
                violation_error_message="A second person approves a reopening.",
            ),
        ]
        triggers: ClassVar = [
            Protect(name="deletion", operation=pgtrigger.Delete),
            Protect(
                name="start",
                operation=pgtrigger.Insert,
                condition=~pgtrigger.Q(new__state="proposed"),
            ),
            FSM("state", {"proposed": {"posted", "voided"}}),
            ReadOnly(name="terms", exclude=["state", "approved_by", "ended_at"]),
            Protect(
                name="ended",
                operation=pgtrigger.Update,
                condition=~pgtrigger.Q(old__state="proposed"),
            ),
            second_person(
                name="approved_by_another",
                code="periodreopening.approved_by_another",
                by="NEW.approved_by_id",
                others=("NEW.proposed_by_id",),
                subject="'reopening:' || NEW.id",
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(new__state="posted"),
            ),
        ]

    def __str__(self) -> str:
        return f"reopening of {self.period.month:%B %Y}"

    @property
    def subject(self) -> str:
        """Its name in approvals of a sole owner."""
        return f"reopening:{self.pk}"


class PeriodTotal(models.Model):
    """The total of an account in a closed period, over all engagements."""

    period = models.ForeignKey(Period, on_delete=models.PROTECT, related_name="totals")
    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="+")
    currency = models.CharField(max_length=3)
    debit = models.DecimalField(max_digits=20, decimal_places=3)
    credit = models.DecimalField(max_digits=20, decimal_places=3)
    leg_count = models.PositiveIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["period", "account", "currency"], name="period_total_once"
            ),
        ]
        triggers: ClassVar = [
            WrittenByTriggers(),
        ]

    def __str__(self) -> str:
        return f"{self.period}: {self.debit} and {self.credit} {self.currency}"
