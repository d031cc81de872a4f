"""The time-box with its pauses, recorded hours and warnings."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from benchmarks.triggers import Protect, ReadOnly
from engagements.contracts.models import ContractVersion
from engagements.contracts.triggers import freeze_parts
from engagements.engagement.models import Engagement
from engagements.people.models import User


class TimeBox(models.Model):
    """The calendar weeks of the contract in force from `starts_on`, extended by its pauses;
    `ends_on` is the last day."""

    engagement = models.OneToOneField(Engagement, on_delete=models.PROTECT, related_name="time_box")
    starts_on = models.DateField()
    ends_on = models.DateField()

    class Meta:
        verbose_name = "time-box"
        verbose_name_plural = "time-boxes"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(ends_on__gt=F("starts_on")),
                name="time_box_ends_after_it_starts",
                violation_error_message="Enter a last day after the first.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.starts_on} to {self.ends_on}"


class Pause(models.Model):
    """Days on which the clock of the time-box is stopped, both included.

    Part of a version's terms: each later version repeats the agreed ones.
    """

    contract_version = models.ForeignKey(
        ContractVersion, on_delete=models.CASCADE, related_name="pauses"
    )
    starts_on = models.DateField("from")
    ends_on = models.DateField("until")
    waits_for = models.CharField(max_length=120, help_text="Who is waited for.")
    reason = models.TextField("why")

    class Meta:
        ordering: ClassVar = ["contract_version", "starts_on"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["contract_version", "starts_on"],
                name="pause_starts_once",
                violation_error_message="Another pause starts on this day.",
            ),
            models.CheckConstraint(
                condition=Q(ends_on__gte=F("starts_on")),
                name="pause_ends_after_it_starts",
                violation_error_message="Enter a last day on or after the first.",
            ),
            models.CheckConstraint(
                condition=~Q(waits_for="") & ~Q(reason=""),
                name="pause_says_who_and_why",
                violation_error_message="Enter the awaited party and the reason.",
            ),
        ]
        triggers: ClassVar = [
            freeze_parts(),
        ]

    def __str__(self) -> str:
        return f"{self.starts_on} to {self.ends_on}, waiting for {self.waits_for}"


class CooperationRequest(models.Model):
    """Something that the consultancy asked the customer for, and the day it was provided."""

    engagement = models.ForeignKey(
        Engagement, on_delete=models.PROTECT, related_name="cooperation_requests"
    )
    item = models.TextField()
    asked_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    asked_on = models.DateField()
    provided_on = models.DateField(null=True, blank=True)
    provided_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=~Q(item="")
                & (
                    Q(provided_on__isnull=True, provided_by__isnull=True)
                    | Q(provided_on__gte=F("asked_on"), provided_by__isnull=False)
                ),
                name="cooperation_request_is_provided_after_it_is_asked",
                violation_error_message="An item is provided on or after the day of the request.",
            ),
        ]
        triggers: ClassVar = [
            Protect(name="deletion", operation=pgtrigger.Delete),
            ReadOnly(name="request", fields=["engagement", "item", "asked_by", "asked_on"]),
            ReadOnly(
                name="provided",
                fields=["provided_on", "provided_by"],
                condition=pgtrigger.Q(old__provided_on__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.asked_on}: {self.item[:60]}"


class TimeEntry(models.Model):
    """Hours that a consultant worked in an engagement on one day. They are not billed: they show
    the fixed fee per hour."""

    engagement = models.ForeignKey(
        Engagement, on_delete=models.PROTECT, related_name="time_entries"
    )
    consultant = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    worked_on = models.DateField()
    hours = models.DecimalField(max_digits=4, decimal_places=2)
    note = models.CharField(max_length=200)
    request_key = models.UUIDField(unique=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name_plural = "time entries"
        ordering: ClassVar = ["-worked_on", "-pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(hours__gt=0, hours__lte=24),
                name="time_entry_hours_fit_a_day",
                violation_error_message="Enter more than 0 and at most 24 hours.",
            ),
            models.CheckConstraint(
                condition=~Q(note=""),
                name="time_entry_says_what_was_done",
                violation_error_message="Enter the work done.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.consultant}, {self.worked_on}: {self.hours} h"


class TimeBoxWarning(models.Model):
    """A threshold that a time-box passed on its way to the day `ends_on`, recorded once.

    Another last day starts them again. `is_mailed` is false where a later threshold had been
    passed as well when the sweep ran.
    """

    class Threshold(models.TextChoices):
        HALF = "half", "Half of the time-box is used"
        MOST = "most", "80% of the time-box is used"
        WEEK = "week", "One week is left"
        DAY = "day", "One day is left"
        OVER = "over", "The time-box is over"

    engagement = models.ForeignKey(
        Engagement, on_delete=models.PROTECT, related_name="time_box_warnings"
    )
    ends_on = models.DateField()
    threshold = models.CharField(max_length=4, choices=Threshold)
    is_mailed = models.BooleanField()
    noted_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name = "time-box warning"
        ordering: ClassVar = ["noted_at", "pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["engagement", "ends_on", "threshold"], name="time_box_warning_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_threshold_display()} ({self.ends_on})"
