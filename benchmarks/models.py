"""Models: sealed benchmarks, solutions, runs and records; signing keys are a module beside them."""

from __future__ import annotations

import json
import secrets
from typing import Any, ClassVar

from django.core.files.storage import Storage, storages
from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.jobs import JOB_TRIGGERS, Job
from benchmarks.records.failure_codes import LABELS, FailureCode
from benchmarks.signing_keys import SigningKey
from benchmarks.triggers import AppendOnly, ReadOnly

__all__ = [
    "Benchmark",
    "BenchmarkCheck",
    "CapturedFile",
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
        return dict(json.loads(bytes(self.canonical)))


class CapturedFile(models.Model):
    """A file of captured tensors that benchmark documents name by its digest. Append-only."""

    file = models.FileField(storage=place_of_records, max_length=200)
    digest = models.CharField(max_length=71, unique=True)
    size_bytes = models.PositiveIntegerField()
    stored_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-stored_at", "-pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(digest__regex=r"^sha256:[0-9a-f]{64}$", size_bytes__gt=0),
                name="capturedfile_has_a_digest",
            ),
        ]
        triggers: ClassVar = [AppendOnly()]

    def __str__(self) -> str:
        return self.digest


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


class Run(Job):
    """One measurement of a candidate against the benchmark's baseline.

    Every attempt has a `nonce` of its own, which its record must contain, and the customer's, where
    they gave one: no record measured elsewhere or earlier concludes a run.

    `measured_by` is empty for a run on the consultancy's machines, else the party whose runners
    measure it, as in `SigningKey.owner`. Workers of the queue gpu leave those alone.
    """

    for_workers = Q(measured_by="")

    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="runs")
    solution = models.ForeignKey(Solution, on_delete=models.PROTECT, related_name="runs")
    nonce = models.CharField(max_length=64, unique=True, default=new_nonce, editable=False)
    customer_nonce = models.CharField(max_length=128, blank=True, editable=False)
    measured_by = models.CharField(max_length=40, blank=True, editable=False)
    cancelled_by = models.CharField(max_length=200, blank=True, editable=False)
    failure_code = models.CharField(
        max_length=24, choices=[(code.value, LABELS[code]) for code in FailureCode], blank=True
    )
    log = models.TextField(
        blank=True,
        editable=False,
        help_text="What was printed before the run failed; it may name machines and paths.",
    )

    class Meta(Job.Meta):
        constraints: ClassVar = [
            *Job.Meta.constraints,
            models.UniqueConstraint(
                fields=["customer_nonce"],
                condition=~Q(customer_nonce=""),
                name="run_customer_nonce_is_used_once",
                violation_error_message="This nonce was used for another run. Enter a new one.",
            ),
            models.CheckConstraint(
                condition=Q(state="failed") & ~Q(failure_code="")
                | ~Q(state="failed") & Q(failure_code=""),
                name="run_fails_with_a_code",
                violation_error_message="A failed run needs the cause of its failure.",
            ),
        ]
        triggers: ClassVar = [
            *JOB_TRIGGERS,
            ReadOnly(
                name="identity",
                fields=["benchmark", "solution", "request_key", "customer_nonce", "measured_by"],
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.pk}"

    @property
    def nonces(self) -> dict[str, str]:
        """The nonces that the record of this attempt contains, by issuer."""
        given = {"customer": self.customer_nonce} if self.customer_nonce else {}
        return {"site": self.nonce, **given}


class BenchmarkCheck(Job):
    """A trial of a customer's benchmark folder, as `twofold check` does it.

    `document` is the folder's benchmark, canonical. `results` are the trials as
    `harness.runs.folder_checks` words them. A passed check has `checked`: the document with the
    fastest baseline, calibrated unless the machine was too busy.
    """

    document = models.BinaryField()
    digest = models.CharField(max_length=71)
    results = models.JSONField(default=list, blank=True)
    checked = models.BinaryField(null=True, blank=True)
    checked_digest = models.CharField(max_length=71, blank=True)

    class Meta(Job.Meta):
        constraints: ClassVar = [
            *Job.Meta.constraints,
            models.CheckConstraint(
                condition=Q(checked__isnull=True, checked_digest="")
                | Q(
                    state="finished",
                    checked__isnull=False,
                    checked_digest__regex=r"^sha256:[0-9a-f]{64}$",
                ),
                name="benchmarkcheck_has_a_benchmark_only_when_passed",
            ),
        ]
        triggers: ClassVar = [
            *JOB_TRIGGERS,
            ReadOnly(name="identity", fields=["document", "digest", "request_key"]),
        ]

    def __str__(self) -> str:
        return f"check {self.pk}"

    @property
    def passed(self) -> bool:
        return self.checked is not None

    @property
    def benchmark(self) -> dict[str, Any]:
        """The checked document, or the folder's until then."""
        return dict(json.loads(bytes(self.checked or self.document)))


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
                violation_error_message="A verdict about the target needs a measured ratio.",
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
