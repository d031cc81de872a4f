"""The engagement and its stages."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import FSM
from engagements.engagement.triggers import CHECK_BALANCE, CHECK_REPEAT, CHECK_TERMINATION
from engagements.people.models import Customer, User


class Stage(models.TextChoices):
    SCOPING = "scoping", "Scoping"
    AUDITING = "auditing", "Auditing"
    AUDITED = "audited", "Audited"
    OFFERED = "offered", "Offered"
    ACTIVE = "active", "Active"
    MET = "met", "Target met"
    MISSED = "missed", "Target missed"
    TERMINATED = "terminated", "Terminated"
    CLOSED = "closed", "Closed"
    REDIRECTED = "redirected", "Redirected"
    DECLINED = "declined", "Declined"
    CANCELLED = "cancelled", "Cancelled"


MOVES: Mapping[Stage, frozenset[Stage]] = MappingProxyType(
    {
        Stage.SCOPING: frozenset({Stage.AUDITING, Stage.CANCELLED}),
        Stage.AUDITING: frozenset(
            {Stage.AUDITED, Stage.REDIRECTED, Stage.DECLINED, Stage.CANCELLED}
        ),
        Stage.AUDITED: frozenset({Stage.OFFERED, Stage.CANCELLED}),
        Stage.OFFERED: frozenset({Stage.ACTIVE, Stage.AUDITED, Stage.CANCELLED}),
        Stage.ACTIVE: frozenset({Stage.MET, Stage.MISSED, Stage.TERMINATED, Stage.CANCELLED}),
        # Back by the repeat of a disputed acceptance run.
        Stage.MET: frozenset({Stage.CLOSED, Stage.ACTIVE, Stage.MISSED}),
        Stage.MISSED: frozenset({Stage.CLOSED, Stage.MET, Stage.ACTIVE}),
        Stage.TERMINATED: frozenset({Stage.CLOSED, Stage.MET}),
        # Reopened when the bank returns a refund.
        Stage.CLOSED: frozenset({Stage.MET, Stage.MISSED, Stage.TERMINATED}),
        Stage.REDIRECTED: frozenset(),
        Stage.DECLINED: frozenset(),
        Stage.CANCELLED: frozenset(),
    }
)


class Engagement(models.Model):
    """One piece of work for one customer. Only `stages.move` changes its stage."""

    reference = models.SlugField(max_length=20, unique=True)
    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="engagements")
    lead = models.ForeignKey(User, on_delete=models.PROTECT, related_name="engagements_led")
    title = models.CharField(max_length=160)
    workload = models.TextField(help_text="The workload in the customer's words.")
    stage = models.CharField(max_length=12, choices=Stage, default=Stage.SCOPING)
    opened_at = models.DateTimeField(default=timezone.now, editable=False)
    stage_since = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-opened_at", "-pk"]
        # The board shows the first rows of each stage.
        indexes: ClassVar = [
            models.Index(fields=["stage", "stage_since", "id"], name="engagement_by_stage")
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(stage__in=Stage.values),
                name="engagement_stage_is_known",
                violation_error_message="An engagement is in one of the known stages.",
            ),
        ]
        triggers: ClassVar = [
            FSM("stage", MOVES),
            CHECK_BALANCE,
            CHECK_REPEAT,
            CHECK_TERMINATION,
        ]

    def __str__(self) -> str:
        return f"{self.reference} {self.title}"
