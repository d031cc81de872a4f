"""Reminders of overdue invoices."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import AppendOnly
from engagements.billing.models import Invoice


class Reminder(models.Model):
    """One reminder level of an overdue invoice. Append-only."""

    invoice = models.ForeignKey(Invoice, on_delete=models.PROTECT, related_name="reminders")
    level = models.PositiveSmallIntegerField()
    open_amount = models.DecimalField(max_digits=14, decimal_places=3)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["invoice", "level"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["invoice", "level"],
                name="reminder_level_once",
                violation_error_message="This reminder was already sent.",
            ),
            models.CheckConstraint(
                condition=Q(open_amount__gt=0, level__gt=0),
                name="reminder_is_about_something_open",
                violation_error_message="A reminder needs an open amount.",
            ),
        ]
        triggers: ClassVar = [
            AppendOnly(),
        ]

    def __str__(self) -> str:
        return f"reminder {self.level} of {self.invoice}"
