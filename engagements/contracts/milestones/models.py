"""Milestones, the parts of the fixed fee."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q

from benchmarks.triggers import FSM
from engagements.common.money import format_money
from engagements.contracts.models import ContractVersion
from engagements.contracts.triggers import CHECK_REINSTATED, freeze_parts


class ReleaseCondition(models.TextChoices):
    SIGNED = "signed", "Contract signed"
    AUDIT_DELIVERED = "audit_delivered", "Audit delivered"
    DATE = "date", "Date reached"
    TARGET_MET = "target_met", "Target met"
    HANDOVER = "handover", "Handover accepted"


class Milestone(models.Model):
    """A part of the fee (net, in the contract's currency) with its release condition.

    A released milestone may be billed; a billed one is on the issued invoice whose number is
    `billing_reference`.
    """

    class State(models.TextChoices):
        PENDING = "pending", "Pending"
        RELEASED = "released", "Released"
        BILLED = "billed", "Billed"
        VOID = "void", "Void"

    contract_version = models.ForeignKey(
        ContractVersion, on_delete=models.PROTECT, related_name="milestones"
    )
    position = models.PositiveSmallIntegerField()
    title = models.CharField(max_length=120)
    amount = models.DecimalField(max_digits=14, decimal_places=3)
    share = models.DecimalField(
        max_digits=7,
        decimal_places=2,
        null=True,
        blank=True,
        help_text="Percentage of the fee less all fixed amounts.",
    )
    condition = models.CharField(max_length=16, choices=ReleaseCondition)
    due_on = models.DateField(null=True, blank=True, help_text="The day of the condition date.")
    state = models.CharField(max_length=8, choices=State, default=State.PENDING)
    released_at = models.DateTimeField(null=True, blank=True)
    billed_at = models.DateTimeField(null=True, blank=True)
    billing_reference = models.CharField(max_length=60, blank=True)

    class Meta:
        ordering: ClassVar = ["contract_version", "position"]
        indexes: ClassVar = [
            # Finance's list of what is to bill, the longest released first.
            models.Index(
                fields=["released_at", "id"],
                condition=Q(state="released"),
                name="milestone_to_bill",
            )
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["contract_version", "position"], name="milestone_position_once"
            ),
            models.CheckConstraint(
                condition=Q(amount__gt=0),
                name="milestone_amount_is_positive",
                violation_error_message="Enter an amount above 0.",
            ),
            models.CheckConstraint(
                condition=Q(condition="date", due_on__isnull=False)
                | (~Q(condition="date") & Q(due_on__isnull=True)),
                name="milestone_date_has_its_day",
                violation_error_message="Enter the day of a milestone released on a date.",
            ),
            models.CheckConstraint(
                condition=Q(share__isnull=True) | Q(share__gt=0),
                name="milestone_share_is_positive",
                violation_error_message="Enter a share above 0.",
            ),
            models.CheckConstraint(
                condition=Q(state="pending", billed_at__isnull=True)
                | Q(state="void")
                | Q(state="released", released_at__isnull=False, billed_at__isnull=True)
                | (
                    Q(state="billed", released_at__isnull=False, billed_at__isnull=False)
                    & ~Q(billing_reference="")
                ),
                name="milestone_is_dated_as_far_as_it_got",
                violation_error_message="Release the milestone before it is billed.",
            ),
        ]
        triggers: ClassVar = [
            freeze_parts("sealed_rows", pgtrigger.Insert | pgtrigger.Delete),
            freeze_parts(
                "sealed_terms",
                pgtrigger.Update,
                pgtrigger.AnyChange(
                    exclude=["state", "released_at", "billed_at", "billing_reference"]
                ),
            ),
            # An invoice credited in full because it was wrong may be billed again.
            FSM(
                "state",
                {
                    "pending": {"released", "void"},
                    "released": {"billed", "void", "pending"},
                    "billed": {"released", "void"},
                    "void": {"pending", "released"},
                },
            ),
            CHECK_REINSTATED,
        ]

    def __str__(self) -> str:
        return f"{self.title} ({format_money(self.amount, self.contract_version.currency)})"
