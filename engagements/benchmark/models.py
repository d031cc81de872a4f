"""Versions of a customer's own benchmark, their checks, comments, approvals and seal."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.models import Benchmark, BenchmarkCheck, place_of_records
from benchmarks.triggers import AppendOnly
from engagements.benchmark.triggers import APPROVED, CHECKED
from engagements.engagement.models import Engagement
from engagements.people.models import User

DIGEST = r"^sha256:[0-9a-f]{64}$"


class Side(models.TextChoices):
    CONSULTANCY = "consultancy", "The consultancy"
    CUSTOMER = "customer", "The customer"


class BenchmarkVersion(models.Model):
    """A numbered version of an engagement's benchmark folder: the archive as uploaded.

    Append-only: a correction is another version. `digest` is the archive's.
    """

    engagement = models.ForeignKey(
        Engagement, on_delete=models.PROTECT, related_name="benchmark_versions"
    )
    number = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=200, help_text="File name of the upload.")
    file = models.FileField(storage=place_of_records, max_length=200)
    digest = models.CharField(max_length=71)
    size_bytes = models.PositiveIntegerField()
    title = models.CharField(max_length=200, help_text="The operator's title.")
    uploaded_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    uploaded_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-number"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["engagement", "number"], name="benchmarkversion_number_once"
            ),
            models.UniqueConstraint(
                fields=["engagement", "digest"],
                name="benchmarkversion_is_kept_once",
                violation_error_message="This archive is a version already.",
            ),
            models.CheckConstraint(
                condition=Q(digest__regex=DIGEST, size_bytes__gt=0),
                name="benchmarkversion_has_a_digest",
            ),
        ]
        triggers: ClassVar = [AppendOnly()]

    def __str__(self) -> str:
        return f"{self.engagement.reference} benchmark v{self.number}"


class VersionCheck(models.Model):
    """A check of a version that somebody requested. Append-only; its state is the check's."""

    version = models.ForeignKey(BenchmarkVersion, on_delete=models.PROTECT, related_name="checks")
    check_job = models.OneToOneField(
        BenchmarkCheck, on_delete=models.PROTECT, related_name="+", db_column="check_id"
    )
    requested_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering: ClassVar = ["-pk"]
        triggers: ClassVar = [AppendOnly()]

    def __str__(self) -> str:
        return f"check of {self.version}"


class BenchmarkComment(models.Model):
    """A remark of either side on a version, a file of it or a line. Append-only."""

    version = models.ForeignKey(BenchmarkVersion, on_delete=models.PROTECT, related_name="comments")
    author = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    side = models.CharField(max_length=12, choices=Side)
    path = models.CharField(max_length=200, blank=True)
    line = models.PositiveIntegerField(null=True, blank=True)
    text = models.TextField()
    written_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=~Q(text="") & (Q(line__isnull=True) | ~Q(path="")),
                name="benchmarkcomment_has_a_text_and_a_place",
                violation_error_message="Enter a comment, and the file of its line.",
            ),
        ]
        triggers: ClassVar = [AppendOnly()]

    def __str__(self) -> str:
        return self.text[:60]


class BenchmarkApproval(models.Model):
    """One side's approval of exactly one checked benchmark, by its digest. Append-only."""

    version = models.ForeignKey(
        BenchmarkVersion, on_delete=models.PROTECT, related_name="approvals"
    )
    side = models.CharField(max_length=12, choices=Side)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    digest = models.CharField(max_length=71)
    approved_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["version", "side", "digest"],
                name="benchmarkapproval_once_a_side",
                violation_error_message="Your side has approved this benchmark.",
            ),
        ]
        triggers: ClassVar = [AppendOnly(), CHECKED]

    def __str__(self) -> str:
        return f"{self.side} approved {self.digest[:19]}…"


class SealedVersion(models.Model):
    """The benchmark that both sides approved, sealed from a version. Append-only."""

    version = models.ForeignKey(BenchmarkVersion, on_delete=models.PROTECT, related_name="seals")
    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="+")
    sealed_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["version", "benchmark"], name="sealedversion_once_a_version"
            ),
        ]
        triggers: ClassVar = [AppendOnly(), APPROVED]

    def __str__(self) -> str:
        return f"{self.version}: {self.benchmark}"
