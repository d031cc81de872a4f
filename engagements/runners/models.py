"""Runners: machines that measure runs over HTTPS, and the attempts that they claimed."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.models import Run, SigningKey
from benchmarks.triggers import AppendOnly, Protect, ReadOnly
from engagements.people.models import Customer, User
from engagements.runs import places


class DeviceKind(models.TextChoices):
    """The device of a runner, as in a benchmark's `hardware`."""

    CPU = "cpu", "CPU"
    CUDA = "cuda", "CUDA"


class Runner(models.Model):
    """A machine of the consultancy (without `customer`) or of a customer that measures runs.

    It acts by tokens of its service account. At its first start it states its device and its public
    key; the key never changes, so that a stolen token signs nothing. `matches_calibration` says
    whether its newest record had the baseline at its calibrated speed; None if not measured.
    """

    account = models.OneToOneField(User, on_delete=models.PROTECT, related_name="runner")
    customer = models.ForeignKey(
        Customer, on_delete=models.PROTECT, null=True, related_name="runners"
    )
    name = models.CharField(max_length=80)
    device = models.CharField(max_length=4, choices=DeviceKind, blank=True)
    device_name = models.CharField(max_length=200, blank=True)
    key = models.OneToOneField(SigningKey, on_delete=models.PROTECT, null=True, related_name="+")
    matches_calibration = models.BooleanField(null=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering: ClassVar = ["customer", "name", "pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["customer", "name"],
                condition=Q(ended_at__isnull=True),
                nulls_distinct=False,
                name="runner_name_once",
                violation_error_message="A runner with this name exists. Enter another name.",
            ),
            models.CheckConstraint(
                condition=Q(key__isnull=True, device="", device_name="")
                | (Q(key__isnull=False) & ~Q(device="") & ~Q(device_name="")),
                name="runner_has_a_key_and_a_device",
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True, ended_by__isnull=True)
                | Q(ended_at__isnull=False, ended_by__isnull=False),
                name="runner_is_ended_by_somebody",
            ),
        ]
        triggers: ClassVar = [
            ReadOnly(
                name="identity", fields=["account", "customer", "name", "created_by", "created_at"]
            ),
            ReadOnly(name="key", fields=["key"], condition=pgtrigger.Q(old__key__isnull=False)),
            ReadOnly(
                name="ended",
                fields=["ended_at", "ended_by"],
                condition=pgtrigger.Q(old__ended_at__isnull=False),
            ),
            Protect(name="deletion", operation=pgtrigger.Delete),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def party(self) -> str:
        """The party whose runs it measures, as in `Run.measured_by`."""
        return places.party(self.customer)

    @property
    def is_active(self) -> bool:
        """Whether it may measure: not ended, and its service account is open."""
        return self.ended_at is None and self.account.is_active


class RunnerAttempt(models.Model):
    """An attempt at a run that a runner claimed, with the nonce that it was issued."""

    runner = models.ForeignKey(Runner, on_delete=models.PROTECT, related_name="attempts")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="+")
    attempt = models.PositiveIntegerField()
    nonce = models.CharField(max_length=64, unique=True, editable=False)
    claimed_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "attempt"], name="runner_attempt_once"),
        ]
        triggers: ClassVar = [AppendOnly()]

    def __str__(self) -> str:
        return f"attempt {self.attempt} at {self.run} by {self.runner}"

    @property
    def is_current(self) -> bool:
        """Whether the runner still has the run."""
        return (self.run.state, self.run.attempt) == (Run.State.RUNNING, self.attempt)
