"""Documents: the bytes of a PDF as it was issued, never rendered again."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import AppendOnly
from engagements.engagement.models import Engagement


class Document(models.Model):
    """A PDF with its SHA-256. Append-only: a mistake is corrected by another document.

    The bytes live in the database, beside the facts that they state, so that one backup and
    one transaction hold both. `subject` is what it was issued about, as in contract:17, and
    `seal` the digest at the foot of its pages: that of what it states, and not of its bytes.
    """

    class Kind(models.TextChoices):
        AUDIT_REPORT = "audit_report", "Audit report"
        CONTRACT = "contract", "Contract"
        BENCHMARK_REPORT = "benchmark_report", "Benchmark report"
        INVOICE = "invoice", "Invoice"
        CREDIT_NOTE = "credit_note", "Credit note"
        SETTLEMENT_STATEMENT = "settlement_statement", "Settlement statement"

    engagement = models.ForeignKey(Engagement, on_delete=models.PROTECT, related_name="documents")
    kind = models.CharField(max_length=24, choices=Kind)
    subject = models.CharField(max_length=60)
    title = models.CharField(max_length=160)
    filename = models.CharField(max_length=120)
    content = models.BinaryField()
    size_bytes = models.PositiveIntegerField()
    digest = models.CharField(max_length=71, db_index=True)
    seal = models.CharField(max_length=71, blank=True, db_index=True)
    for_customer = models.BooleanField(default=True)
    issued_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-issued_at", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["kind", "subject"],
                name="document_is_issued_once",
                violation_error_message="This document has been issued already.",
            ),
            models.CheckConstraint(
                condition=Q(digest__regex=r"^sha256:[0-9a-f]{64}$", size_bytes__gt=0),
                name="document_has_a_digest",
                violation_error_message="A document has bytes and their SHA-256.",
            ),
        ]
        triggers: ClassVar = [
            AppendOnly(),
        ]

    def __str__(self) -> str:
        return self.title


class DocumentFailure(models.Model):
    """Why a document that is due was not made when it was last tried; gone once it is issued."""

    engagement = models.ForeignKey(
        Engagement, on_delete=models.PROTECT, related_name="document_failures"
    )
    kind = models.CharField(max_length=24, choices=Document.Kind)
    subject = models.CharField(max_length=60)
    title = models.CharField(max_length=160)
    reason = models.TextField()
    failed_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["kind", "subject"],
                name="document_failure_once",
                violation_error_message="Why this document is not made is noted already.",
            ),
            models.CheckConstraint(
                condition=~Q(reason=""),
                name="document_failure_says_why",
                violation_error_message="A document that is not made has a reason.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.title}: {self.reason}"
