"""Disputes of a measurement, and their messages."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from benchmarks.models import Repetition, Verdict, place_of_records
from benchmarks.triggers import AppendOnly, Protect, ReadOnly
from engagements.disputes.triggers import BOOKED_BY_ANOTHER, DISPUTED_RUN
from engagements.engagement.models import Engagement
from engagements.people.models import User
from engagements.people.triggers import by_finance
from engagements.runs.models import EngagementRun


class MeasurementDispute(models.Model):
    """A request for the repeat of an acceptance run by the customer or an expert.

    It ends with the record of the repeat, by withdrawal, or without a repeat by two consultants:
    `proposed_by` and `ended_by`. `new_verdict` replaces that of the run. `cost` is the net cost of
    the repeat in the contract's currency, `cost_payer` the party that paid it and `cost_bearer`
    the one that bears it; `reimbursement` names the other's payment. The settlement waits while
    the dispute is open, and while it `awaits_booking`: the repeat undid the settlement
    after the refund was sent, and two people of finance book that. `source_released_at`: the
    consultancy gave the candidate's source to the customer's signatories for the repeat.
    """

    class Party(models.TextChoices):
        CUSTOMER = "customer", "The customer"
        CONSULTANCY = "consultancy", "The consultancy"

    class Repeater(models.TextChoices):
        CUSTOMER = "customer", "The customer"
        EXPERT = "expert", "An expert"

    class State(models.TextChoices):
        OPEN = "open", "Open"
        WITHDRAWN = "withdrawn", "Withdrawn"
        CONFIRMED = "confirmed", "Verdict confirmed"
        REPLACED = "replaced", "Verdict replaced"

    engagement = models.ForeignKey(
        Engagement, on_delete=models.PROTECT, related_name="measurement_disputes"
    )
    run = models.ForeignKey(EngagementRun, on_delete=models.PROTECT, related_name="disputes")
    party = models.CharField(max_length=12, choices=Party)
    reason = models.TextField()
    repeater = models.CharField(max_length=8, choices=Repeater)
    expert = models.CharField(max_length=200, blank=True)
    raised_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    raised_at = models.DateTimeField(default=timezone.now, editable=False)
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    repetition = models.OneToOneField(
        Repetition, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    new_verdict = models.CharField(max_length=12, choices=Verdict, blank=True)
    cost = models.DecimalField(max_digits=14, decimal_places=3, null=True, blank=True)
    cost_bearer = models.CharField(max_length=12, choices=Party, blank=True)
    source_released_at = models.DateTimeField(null=True, blank=True)
    cost_payer = models.CharField(max_length=12, choices=Party, blank=True)
    reimbursement = models.CharField(max_length=80, blank=True)
    awaits_booking = models.BooleanField(default=False)
    booking_proposed_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    booked_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    proposed_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    outcome = models.TextField(blank=True)
    ended_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["run"],
                condition=~Q(state="withdrawn"),
                name="measurement_dispute_once_a_run",
                violation_error_message="This run is or was disputed.",
            ),
            models.CheckConstraint(
                condition=~Q(reason="")
                & (
                    Q(state="open", ended_at__isnull=True, ended_by__isnull=True)
                    | (
                        ~Q(state="open")
                        & Q(ended_at__isnull=False, ended_by__isnull=False)
                        & ~Q(outcome="")
                    )
                ),
                name="measurement_dispute_ends_with_an_outcome",
                violation_error_message="A dispute needs a reason, and its end an outcome.",
            ),
            models.CheckConstraint(
                condition=Q(state="replaced", repetition__isnull=False) & ~Q(new_verdict="")
                | (~Q(state="replaced") & Q(new_verdict="")),
                name="measurement_dispute_is_replaced_by_a_repeat",
                violation_error_message="Only a repeat replaces a verdict.",
            ),
            models.CheckConstraint(
                condition=~Q(state="confirmed", repetition__isnull=True)
                | (Q(proposed_by__isnull=False) & ~Q(proposed_by=F("ended_by"))),
                name="measurement_dispute_decided_by_two",
                violation_error_message="Two consultants decide a dispute without a repeat.",
            ),
            models.CheckConstraint(
                condition=Q(cost__isnull=True)
                | Q(cost__gte=0, repetition__isnull=False) & ~Q(cost_bearer="") & ~Q(cost_payer=""),
                name="measurement_dispute_cost_has_a_bearer",
                violation_error_message="Enter a cost from 0.",
            ),
            models.CheckConstraint(
                condition=Q(awaits_booking=False) | Q(state="replaced", booked_by__isnull=True),
                name="measurement_dispute_books_a_replaced_verdict",
                violation_error_message="Only a repeat that replaced the verdict is booked.",
            ),
            models.CheckConstraint(
                condition=Q(booked_by__isnull=True) | Q(booking_proposed_by__isnull=False),
                name="measurement_dispute_booking_is_proposed",
                violation_error_message="Propose the booking first.",
            ),
        ]
        triggers: ClassVar = [
            Protect(name="deletion", operation=pgtrigger.Delete),
            ReadOnly(
                name="request",
                fields=[
                    *("engagement", "run", "party", "reason", "repeater", "expert"),
                    *("raised_by", "raised_at"),
                ],
            ),
            ReadOnly(
                name="ended",
                exclude=["awaits_booking", "booking_proposed_by", "booked_by", "reimbursement"],
                condition=pgtrigger.Q(old__ended_at__isnull=False),
            ),
            by_finance("measurementdispute", "booking_proposed_by_id", "booked_by_id"),
            BOOKED_BY_ANOTHER,
            DISPUTED_RUN,
        ]

    def __str__(self) -> str:
        return f"dispute of {self.run}: {self.reason[:60]}"

    @property
    def subject(self) -> str:
        """Its name in approvals of a sole owner."""
        return f"measurement_dispute:{self.pk}"

    @property
    def owes_reimbursement(self) -> bool:
        """Whether one party bears a cost that the other one paid, and has not reimbursed it."""
        return bool(self.cost) and self.cost_bearer != self.cost_payer and not self.reimbursement

    @property
    def is_open(self) -> bool:
        return self.state == self.State.OPEN

    @property
    def repeater_name(self) -> str:
        """The name of the party or expert that repeats the run."""
        if self.repeater == self.Repeater.EXPERT:
            return self.expert
        return str(self.engagement.customer)


class DisputeMessage(models.Model):
    """A message in the thread of a dispute, with an attachment or without. Append-only."""

    dispute = models.ForeignKey(
        MeasurementDispute, on_delete=models.PROTECT, related_name="messages"
    )
    text = models.TextField()
    written_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    written_at = models.DateTimeField(default=timezone.now, editable=False)
    name = models.CharField(max_length=200, blank=True, help_text="File name of the attachment.")
    file = models.FileField(storage=place_of_records, max_length=200, blank=True)
    digest = models.CharField(max_length=71, blank=True)
    size_bytes = models.PositiveBigIntegerField(default=0)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=~Q(text="")
                & (Q(name="", file="", digest="") | ~Q(name="") & ~Q(file="") & ~Q(digest="")),
                name="dispute_message_has_a_text",
                violation_error_message="Enter a message.",
            ),
        ]
        triggers: ClassVar = [
            AppendOnly(),
        ]

    def __str__(self) -> str:
        return f"{self.written_by}: {self.text[:60]}"
