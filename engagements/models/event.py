"""The event log: who did what, when, from where. Append-only by a database trigger."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone

from engagements.models.engagement import Engagement
from engagements.models.people import User


class Event(models.Model):
    """One thing that happened in an engagement. Without an actor, the application did it."""

    engagement = models.ForeignKey(Engagement, on_delete=models.PROTECT, related_name="events")
    verb = models.CharField(max_length=60, help_text="As in contract.accepted.")
    summary = models.CharField(max_length=300)
    actor = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    actor_name = models.CharField(max_length=160)
    address = models.GenericIPAddressField("IP address", null=True, blank=True)
    changes = models.JSONField(default=dict)
    for_customer = models.BooleanField(
        default=False, help_text="Shown to the customer's people in the portal."
    )
    happened_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-happened_at", "-pk"]
        indexes: ClassVar = [models.Index(fields=["engagement", "-happened_at"])]

    def __str__(self) -> str:
        return f"{self.verb}: {self.summary}"
