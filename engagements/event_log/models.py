"""The event log: who did what, when, from where. Append-only and chained, by database triggers.

Each event holds the digest of its predecessor in the same engagement (see `chain`). Every
engagement has its own chain, so that writers of different engagements do not wait for each other.
A chain alone does not show a deleted tail: `EventChain` counts events, and `EventAnchor` records
the heads of all chains. What finance does outside an engagement has one chain of its own.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import AppendOnly, WrittenByTriggers
from engagements.engagement.models import Engagement
from engagements.event_log.triggers import CHAIN_EVENTS, CHAIN_FINANCE_EVENTS
from engagements.people.models import User

DIGEST = r"^sha256:[0-9a-f]{64}$"


class ChainedEvent(models.Model):
    """An event with the digest of its predecessor. Abstract, append-only.

    Without an actor, the application caused it.
    """

    position = models.PositiveIntegerField(help_text="From 1, without a gap, in its chain.")
    verb = models.CharField(max_length=60, help_text="Such as contract.accepted.")
    summary = models.CharField(max_length=300)
    actor = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    actor_name = models.CharField(max_length=160)
    address = models.GenericIPAddressField("IP address", null=True, blank=True)
    changes = models.JSONField(default=dict)
    happened_at = models.DateTimeField(default=timezone.now, editable=False)
    previous = models.CharField(
        max_length=71, blank=True, help_text="Digest of the previous event; empty for the first."
    )
    digest = models.CharField(max_length=71)

    class Meta:
        abstract = True
        ordering: ClassVar = ["-happened_at", "-pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(position=1, previous="") | Q(position__gt=1, previous__regex=DIGEST),
                name="%(class)s_follows_another_unless_it_is_the_first",
            ),
            models.CheckConstraint(
                condition=Q(digest__regex=DIGEST), name="%(class)s_has_a_digest"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verb}: {self.summary}"


class Event(ChainedEvent):
    """An event of an engagement."""

    engagement = models.ForeignKey(Engagement, on_delete=models.PROTECT, related_name="events")
    for_customer = models.BooleanField(
        default=False, help_text="Shown to the customer's people in the portal."
    )

    class Meta(ChainedEvent.Meta):
        indexes: ClassVar = [models.Index(fields=["engagement", "-happened_at"])]
        constraints: ClassVar = [
            *ChainedEvent.Meta.constraints,
            models.UniqueConstraint(
                fields=["engagement", "position"], name="event_position_once_an_engagement"
            ),
        ]
        triggers: ClassVar = [
            AppendOnly(),
            CHAIN_EVENTS,
        ]


class FinanceEvent(ChainedEvent):
    """An event of finance that belongs to no engagement: of a month, or of the finance role."""

    for_customer = False

    class Meta(ChainedEvent.Meta):
        constraints: ClassVar = [
            *ChainedEvent.Meta.constraints,
            models.UniqueConstraint(fields=["position"], name="financeevent_position_once"),
        ]
        triggers: ClassVar = [
            AppendOnly(),
            CHAIN_FINANCE_EVENTS,
        ]


class EventChain(models.Model):
    """The length and head of an engagement's chain, maintained by a trigger."""

    engagement = models.OneToOneField(
        Engagement, on_delete=models.PROTECT, primary_key=True, related_name="event_chain"
    )
    length = models.PositiveIntegerField()
    head = models.CharField(max_length=71)

    class Meta:
        triggers: ClassVar = [
            WrittenByTriggers(),
        ]

    def __str__(self) -> str:
        return f"{self.length} events, {self.head}"


class EventAnchor(models.Model):
    """A snapshot of chain heads, chained to the previous anchor. Append-only.

    `heads` maps a reference to [length, head], for every chain that grew since the previous
    anchor. An anchor's digest kept outside the database proves later that the events it covers
    are unchanged.
    """

    number = models.PositiveIntegerField(unique=True, help_text="From 1, without a gap.")
    taken_at = models.DateTimeField(default=timezone.now, editable=False)
    heads = models.JSONField()
    previous = models.CharField(max_length=71, blank=True)
    digest = models.CharField(max_length=71)

    class Meta:
        ordering: ClassVar = ["-number"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(number=1, previous="") | Q(number__gt=1, previous__regex=DIGEST),
                name="anchor_follows_another_unless_it_is_the_first",
            ),
            models.CheckConstraint(condition=Q(digest__regex=DIGEST), name="anchor_has_a_digest"),
        ]
        triggers: ClassVar = [
            AppendOnly(),
        ]

    def __str__(self) -> str:
        return f"anchor {self.number}, {self.digest}"
