"""Closed months, their totals and their reopening."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from benchmarks.triggers import FSM, WrittenByTriggers
from engagements.ledger.models import Account
from engagements.ledger.period_triggers import CHECK_CLOSING, CHECK_REOPENED, TOTAL_PERIOD
from engagements.people.proposals import Decision, decision_constraints, decision_triggers


class Period(Decision):
    """A closed month, which closes all earlier ones: proposed by one person, closed by another.

    `checklist` holds the label and the number of open items of each check at the proposal, and
    `note` explains the open ones. A reopened month may be closed again, by another row.
    """

    KIND = "period"
    NOUN = "closing"

    class State(models.TextChoices):
        PROPOSED = "proposed", "Proposed"
        CLOSED = "closed", "Closed"
        REOPENED = "reopened", "Reopened"
        VOIDED = "voided", "Voided"

    month = models.DateField(help_text="The first day of the month.")
    state = models.CharField(max_length=8, choices=State, default=State.PROPOSED)
    checklist = models.JSONField(default=list, blank=True)
    note = models.TextField(blank=True)

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
            *decision_constraints(),
        ]
        triggers: ClassVar = [
            *decision_triggers("period", "period"),
            FSM("state", {"proposed": {"closed", "voided"}, "closed": {"reopened"}}),
            CHECK_CLOSING,
            CHECK_REOPENED,
            TOTAL_PERIOD,
        ]

    def __str__(self) -> str:
        return f"closing of {self.month:%B %Y}"

    @property
    def open_items(self) -> list[tuple[str, int]]:
        """The checks that were not done at the proposal, with their number of open items."""
        return [(label, count) for label, count in self.checklist if count]


class PeriodReopening(Decision):
    """The reopening of the latest closed month: proposed by one person, approved by another."""

    KIND = "period_reopening"
    NOUN = "reopening"

    class State(models.TextChoices):
        PROPOSED = "proposed", "Proposed"
        POSTED = "posted", "Reopened"
        VOIDED = "voided", "Voided"

    period = models.ForeignKey(Period, on_delete=models.PROTECT, related_name="reopenings")
    reason = models.TextField()
    state = models.CharField(max_length=8, choices=State, default=State.PROPOSED)

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
            *decision_constraints(),
        ]
        triggers: ClassVar = [
            *decision_triggers("periodreopening", "period_reopening"),
            FSM("state", {"proposed": {"posted", "voided"}}),
        ]

    def __str__(self) -> str:
        return f"reopening of {self.period.month:%B %Y}"


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
