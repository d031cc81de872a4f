"""Models: sealed benchmarks, solutions, runs and records; signing keys are a module beside them."""

from __future__ import annotations

import secrets
from typing import Any, ClassVar

import pgtrigger
from django.core.files.storage import Storage, storages
from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.signing_keys import SigningKey
from benchmarks.triggers import AppendOnly, Protect, ReadOnly

__all__ = [
    "Benchmark",
    "Record",
    "Repetition",
    "Run",
    "SigningKey",
    "Solution",
    "Verdict",
    "new_nonce",
    "place_of_records",
]


def place_of_records() -> Storage:
    """The storage of records: settings.STORAGES["records"], a folder or a bucket."""
    return storages["records"]


class Benchmark(models.Model):
    """A sealed benchmark document: canonical JSON (RFC 8785) and its SHA-256. Immutable."""

    name = models.CharField(max_length=120)
    operator = models.CharField(max_length=80)
    canonical = models.BinaryField()
    digest = models.CharField(max_length=71, unique=True)
    sealed_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-sealed_at", "-pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(digest__regex=r"^sha256:[0-9a-f]{64}$"),
                name="benchmark_digest_is_sha256",
                violation_error_message="A benchmark is sealed by a SHA-256 digest.",
            ),
        ]
        triggers: ClassVar = [
            AppendOnly(),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def document(self) -> dict[str, Any]:
        """The sealed document as data (schema twofold.benchmark/1)."""
        import json

        return dict(json.loads(bytes(self.canonical)))


class Solution(models.Model):
    """One implementation of an operator, as source text. Immutable: a fix is another row."""

    name = models.CharField(max_length=120)
    operator = models.CharField(max_length=80)
    filename = models.CharField(max_length=120)
    source = models.TextField()
    digest = models.CharField(max_length=71)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-created_at", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["operator", "name", "digest"],
                name="solution_is_stored_once",
                violation_error_message="This source is stored under this name already.",
            ),
        ]
        triggers: ClassVar = [
            AppendOnly(),
        ]

    def __str__(self) -> str:
        return self.name


def new_nonce() -> str:
    """256 random bits, for one attempt at one run."""
    return secrets.token_hex(32)


class Run(models.Model):
    """One measurement of a candidate against the benchmark's baseline.

    The row is the truth; a message only wakes a worker. A worker claims the row by raising
    `attempt` and setting `leased_until`; writes of a stale attempt are ignored. Every attempt has a
    `nonce` of its own, which its record must contain, and the customer's, where they gave one: no
    record measured elsewhere or earlier concludes a run.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        FINISHED = "finished", "Finished"
        FAILED = "failed", "Failed"

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="runs")
    solution = models.ForeignKey(Solution, on_delete=models.PROTECT, related_name="runs")
    request_key = models.UUIDField(unique=True)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    attempt = models.PositiveIntegerField(default=0)
    nonce = models.CharField(max_length=64, unique=True, default=new_nonce, editable=False)
    customer_nonce = models.CharField(max_length=128, blank=True, editable=False)
    leased_until = models.DateTimeField(null=True, blank=True)
    worker = models.CharField(max_length=200, blank=True)
    progress = models.JSONField(default=dict, blank=True)
    failure_reason = models.TextField(blank=True)
    requested_at = models.DateTimeField(default=timezone.now, editable=False)
    sent_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-requested_at", "-pk"]
        indexes: ClassVar = [
            models.Index(
                fields=["state", "leased_until"],
                name="run_to_sweep",
                condition=Q(state__in=["queued", "running"]),
            ),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["customer_nonce"],
                condition=~Q(customer_nonce=""),
                name="run_customer_nonce_is_used_once",
                violation_error_message="This nonce was used for another run. Enter a new one.",
            ),
            models.CheckConstraint(
                condition=Q(state="running", leased_until__isnull=False, attempt__gte=1)
                | (~Q(state="running") & Q(leased_until__isnull=True)),
                name="run_has_a_lease_exactly_while_running",
                violation_error_message="A run has a lease exactly while it is running.",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["finished", "failed"], finished_at__isnull=False)
                | (~Q(state__in=["finished", "failed"]) & Q(finished_at__isnull=True)),
                name="run_is_dated_when_concluded",
                violation_error_message="A concluded run has a date, an open one has none.",
            ),
            models.CheckConstraint(
                condition=(~Q(state="failed")) | ~Q(failure_reason=""),
                name="run_fails_with_a_reason",
                violation_error_message="A failed run says why.",
            ),
        ]
        triggers: ClassVar = [
            Protect(name="deletion", operation=pgtrigger.Delete),
            Protect(
                name="concluded",
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(old__state__in=["finished", "failed"]),
            ),
            ReadOnly(
                name="identity", fields=["benchmark", "solution", "request_key", "customer_nonce"]
            ),
            Protect(
                name="attempt",
                operation=pgtrigger.Update,
                condition=pgtrigger.Condition("NEW.attempt < OLD.attempt"),
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.pk}"

    @property
    def is_concluded(self) -> bool:
        return self.state in (self.State.FINISHED, self.State.FAILED)


class Verdict(models.TextChoices):
    MET = "met", "Met"
    MISSED = "missed", "Missed"
    INCONCLUSIVE = "inconclusive", "Inconclusive"
    INVALID = "invalid", "Invalid"
    DISQUALIFIED = "disqualified", "Disqualified"


class Record(models.Model):
    """Everything measured in one run, as canonical bytes in storage. Append-only.

    The columns hold the verdict as recomputed from the raw samples. `ratio`, `low` and `high`
    are None where nothing was measured.
    """

    run = models.OneToOneField(Run, on_delete=models.PROTECT, related_name="record")
    attempt = models.PositiveIntegerField()
    file = models.FileField(storage=place_of_records, max_length=200)
    digest = models.CharField(max_length=71, unique=True)
    # Of the files handed out: as stored, and without the source. Empty for older records.
    file_digest = models.CharField(max_length=71, blank=True, db_index=True, editable=False)
    sourceless_digest = models.CharField(max_length=71, blank=True, db_index=True, editable=False)
    # Of the attempt; empty for records made before nonces were issued.
    nonce = models.CharField(max_length=64, blank=True, editable=False)
    verdict = models.CharField(max_length=12, choices=Verdict)
    ratio = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    summary = models.JSONField()
    device_name = models.CharField(max_length=200)
    # None for records made before signing was introduced.
    signed_by = models.ForeignKey(
        SigningKey, on_delete=models.PROTECT, related_name="records", null=True, blank=True
    )
    received_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-received_at", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "attempt"], name="record_once_an_attempt"),
            models.UniqueConstraint(
                fields=["nonce"], condition=~Q(nonce=""), name="record_nonce_is_used_once"
            ),
            models.CheckConstraint(
                condition=Q(verdict__in=["invalid", "disqualified"])
                | Q(ratio__isnull=False, low__isnull=False, high__isnull=False),
                name="record_verdict_rests_on_a_ratio",
                violation_error_message="A verdict about the target rests on a measured ratio.",
            ),
        ]
        triggers: ClassVar = [
            AppendOnly(),
        ]

    def __str__(self) -> str:
        return f"{self.verdict} ({self.digest[:19]}…)"


class Repetition(models.Model):
    """A record of the same benchmark and source, measured again elsewhere. Append-only.

    It never changes the run's verdict. `key_id` comes from the record's signature, empty where
    it is unsigned; `signed_by` is set only for a registered key whose signature verifies.
    """

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="repetitions")
    file = models.FileField(storage=place_of_records, max_length=200)
    digest = models.CharField(max_length=71)
    verdict = models.CharField(max_length=12, choices=Verdict)
    ratio = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    summary = models.JSONField()
    device_name = models.CharField(max_length=200)
    key_id = models.CharField(max_length=16, blank=True)
    signed_by = models.ForeignKey(
        SigningKey, on_delete=models.PROTECT, related_name="+", null=True, blank=True
    )
    added_by = models.CharField(max_length=200)
    added_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-added_at", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "digest"], name="repetition_once_a_run"),
        ]
        triggers: ClassVar = [
            AppendOnly(),
        ]

    def __str__(self) -> str:
        return f"repeated: {self.verdict} ({self.digest[:19]}…)"

    @property
    def signer(self) -> str:
        """The signer for display."""
        if self.signed_by is not None:
            return f"signed by {self.signed_by.name}, key {self.key_id}"
        if self.key_id:
            return f"signed by unknown key {self.key_id}"
        return "not signed"
