"""Disputes of settlements."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import Protect, ReadOnly
from engagements.people.models import User
from engagements.settlements.models import Settlement
from engagements.settlements.triggers import (
    LOCK_SETTLEMENT,
)


class Dispute(models.Model):
    """A customer's dispute of a settlement, which is on hold while the dispute is open."""

    settlement = models.ForeignKey(Settlement, on_delete=models.PROTECT, related_name="disputes")
    reason = models.TextField()
    raised_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    raised_at = models.DateTimeField(default=timezone.now, editable=False)
    resolution = models.TextField(blank=True)
    resolved_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    resolved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-raised_at", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["settlement"],
                condition=Q(resolved_at__isnull=True),
                name="dispute_one_open_a_settlement",
                violation_error_message="A dispute of this settlement is already open.",
            ),
            models.CheckConstraint(
                condition=~Q(reason="")
                & (
                    Q(resolved_at__isnull=True, resolved_by__isnull=True, resolution="")
                    | (Q(resolved_at__isnull=False, resolved_by__isnull=False) & ~Q(resolution=""))
                ),
                name="dispute_says_why_it_began_and_ended",
                violation_error_message="A dispute needs a reason, and its resolution a note.",
            ),
        ]
        triggers: ClassVar = [
            Protect(name="deletion", operation=pgtrigger.Delete),
            ReadOnly(name="claim", exclude=["resolution", "resolved_by", "resolved_at"]),
            Protect(
                name="resolved",
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(old__resolved_at__isnull=False),
            ),
            LOCK_SETTLEMENT,
        ]

    def __str__(self) -> str:
        return f"dispute of {self.settlement_id}: {self.reason[:60]}"
