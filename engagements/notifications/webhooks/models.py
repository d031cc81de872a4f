"""Webhooks: endpoints and the log of deliveries to them."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import FSM, Protect, ReadOnly
from engagements.event_log.models import Event
from engagements.notifications.events import Topic
from engagements.people.models import Customer, User


class WebhookEndpoint(models.Model):
    """A URL that receives events: those of `customer`, or all where it has none.

    `salt` makes its secret, which is derived and not stored. A closed endpoint stays closed.
    """

    customer = models.ForeignKey(
        Customer, on_delete=models.PROTECT, null=True, blank=True, related_name="webhooks"
    )
    url = models.URLField("URL", max_length=400)
    topics = ArrayField(models.CharField(max_length=12, choices=Topic))
    salt = models.CharField(max_length=32, editable=False)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(url__startswith="https://"),
                name="webhookendpoint_is_https",
                violation_error_message="Enter a URL that begins with https://.",
            ),
            models.CheckConstraint(
                condition=Q(topics__len__gte=1),
                name="webhookendpoint_has_a_topic",
                violation_error_message="Choose at least one topic.",
            ),
        ]
        triggers: ClassVar = [
            ReadOnly(name="identity", exclude=["closed_at"]),
            ReadOnly(
                name="closed",
                fields=["closed_at"],
                condition=pgtrigger.Q(old__closed_at__isnull=False),
            ),
            Protect(name="deletion", operation=pgtrigger.Delete),
        ]

    def __str__(self) -> str:
        return self.url

    @property
    def is_active(self) -> bool:
        return self.closed_at is None


class WebhookDelivery(models.Model):
    """An event for an endpoint: one message, which keeps its id through retries and replays.

    A worker claims the row by raising `attempts`. `last_status` is the HTTP status of the last
    attempt, None where there was no answer; `last_error` says why it failed.
    """

    class State(models.TextChoices):
        PENDING = "pending", "Pending"
        DELIVERED = "delivered", "Delivered"
        FAILED = "failed", "Failed"

    endpoint = models.ForeignKey(
        WebhookEndpoint, on_delete=models.PROTECT, related_name="deliveries"
    )
    event = models.ForeignKey(Event, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=10, choices=State, default=State.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_attempt_at = models.DateTimeField(null=True, default=timezone.now)
    last_status = models.PositiveSmallIntegerField(null=True, blank=True)
    last_error = models.CharField(max_length=300, blank=True)
    delivered_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name_plural = "webhook deliveries"
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["endpoint", "event"], name="webhookdelivery_once_an_event"
            ),
            models.CheckConstraint(
                condition=Q(state="pending", next_attempt_at__isnull=False)
                | (~Q(state="pending") & Q(next_attempt_at__isnull=True)),
                name="webhookdelivery_waits_only_while_pending",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["next_attempt_at"], condition=Q(state="pending"), name="webhook_waits"
            ),
        ]
        triggers: ClassVar = [
            ReadOnly(name="identity", fields=["endpoint", "event"]),
            FSM(
                "state",
                {
                    "pending": {"delivered", "failed"},
                    # Sent again by hand.
                    "delivered": {"pending"},
                    "failed": {"pending"},
                },
            ),
        ]

    def __str__(self) -> str:
        return self.message_id

    @property
    def message_id(self) -> str:
        """The header webhook-id, by which receivers recognise a message that they know."""
        return f"msg_{self.endpoint_id}_{self.event_id}"
