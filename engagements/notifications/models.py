"""The outbox of mails, notifications on the site, and what each person chose to receive."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from engagements.documents.models import Document
from engagements.engagement.models import Engagement
from engagements.event_log.models import Event
from engagements.notifications.events import Topic
from engagements.people.models import User

MAX_SUBJECT_CHARACTERS = 160


class Mail(models.Model):
    """A mail to one address. `key` names its occasion, such as contract:17:accepted, and makes it
    unique; `failure` is the error of the last attempt or, with `bounced_at`, of the delivery.
    Without an engagement it is for `person` or, without one, for finance."""

    key = models.CharField(max_length=80)
    engagement = models.ForeignKey(
        Engagement, on_delete=models.PROTECT, null=True, related_name="mails"
    )
    person = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="+")
    recipient = models.EmailField()
    subject = models.CharField(max_length=MAX_SUBJECT_CHARACTERS)
    body = models.TextField()
    document = models.ForeignKey(Document, on_delete=models.PROTECT, null=True, related_name="+")
    written_at = models.DateTimeField(default=timezone.now, editable=False)
    sent_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    failure = models.TextField(blank=True)
    bounced_at = models.DateTimeField(null=True, blank=True)

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
    # Who invited the person, and to which company; empty for a forgotten password.
    inviter = models.CharField(max_length=160, blank=True)
    party = models.CharField(max_length=160, blank=True)
    asked_at = models.DateTimeField(default=timezone.now, editable=False)
    attempts = models.PositiveSmallIntegerField(default=0)

    def __str__(self) -> str:
        return f"to {self.address}"


class Channel(models.TextChoices):
    """How a person receives the events of a topic."""

    MAIL = "mail", "By mail and on the site"
    DIGEST = "digest", "Daily digest and on the site"
    SITE = "site", "On the site only"
    NONE = "none", "Not at all"


class Preference(models.Model):
    """The channel that a person chose for a topic; without one, the default applies."""

    person = models.ForeignKey(User, on_delete=models.CASCADE, related_name="preferences")
    topic = models.CharField(max_length=12, choices=Topic)
    channel = models.CharField(max_length=6, choices=Channel)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["person", "topic"], name="preference_once_a_topic"),
        ]

    def __str__(self) -> str:
        return f"{self.person}, {self.topic}: {self.channel}"


class Notification(models.Model):
    """An event that a person is notified of; `path` is the page that it opens."""

    person = models.ForeignKey(User, on_delete=models.CASCADE, related_name="notifications")
    event = models.ForeignKey(Event, on_delete=models.PROTECT, related_name="+")
    path = models.CharField(max_length=300)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    read_at = models.DateTimeField(null=True, blank=True)
    waits_for_digest = models.BooleanField(default=False)

    class Meta:
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["person", "event"], name="notification_once_an_event"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["person"], condition=Q(read_at=None), name="notification_unread"),
            models.Index(
                fields=["person"],
                condition=Q(waits_for_digest=True),
                name="notification_for_digest",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} for {self.person}"
