"""The outbox: mails that are waiting or sent."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from engagements.documents.models import Document
from engagements.engagement.models import Engagement

MAX_SUBJECT_CHARACTERS = 160


class Mail(models.Model):
    """A mail to one address. `key` names its occasion, such as contract:17:accepted, and makes it
    unique; `failure` is the error of the last attempt. Without an engagement it is for finance."""

    key = models.CharField(max_length=80)
    engagement = models.ForeignKey(
        Engagement, on_delete=models.PROTECT, null=True, related_name="mails"
    )
    recipient = models.EmailField()
    subject = models.CharField(max_length=MAX_SUBJECT_CHARACTERS)
    body = models.TextField()
    document = models.ForeignKey(Document, on_delete=models.PROTECT, null=True, related_name="+")
    written_at = models.DateTimeField(default=timezone.now, editable=False)
    sent_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    failure = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["key", "recipient"], name="mail_once_a_recipient"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["id"], condition=Q(sent_at=None), name="mail_waits"),
        ]

    def __str__(self) -> str:
        return f"{self.subject} to {self.recipient}"


class PasswordMail(models.Model):
    """A request for a password mail to `address`, made on the site at `origin`.

    Holds no link and does not know whether `address` has an account: the worker looks it up,
    creates the link, sends the mail and deletes the row.
    """

    # The length that the form accepts.
    address = models.EmailField(max_length=320, unique=True)
    origin = models.CharField(max_length=300)
    asked_at = models.DateTimeField(default=timezone.now, editable=False)
    attempts = models.PositiveSmallIntegerField(default=0)

    def __str__(self) -> str:
        return f"to {self.address}"
