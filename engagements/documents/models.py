"""Issued documents, and documents that could not be made."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import AppendOnly
from engagements.engagement.models import Engagement


class Document(models.Model):
    """A PDF with its SHA-256. Append-only: a mistake is corrected by another document.

    The bytes are in the database so that one backup and one transaction hold them with their
    facts. `subject` is the row that it was issued for, such as contract:17. `seal` is the digest
    in the footer, of the facts; `digest` is that of the file.
    """

    class Kind(models.TextChoices):
        AUDIT_REPORT = "audit_report", "Audit report"
        AUDIT_ORDER = "audit_order", "Audit order"
        CONTRACT = "contract", "Contract"
        COMPLETION_CERTIFICATE = "completion_certificate", "Certificate of completion"
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
                violation_error_message="This document is already issued.",
            ),
            models.CheckConstraint(
                condition=Q(digest__regex=r"^sha256:[0-9a-f]{64}$", size_bytes__gt=0),
                name="document_has_a_digest",
                violation_error_message="A document needs content and its SHA-256.",
            ),
        ]
        triggers: ClassVar = [
            AppendOnly(),
        ]

    def __str__(self) -> str:
        return self.title


class DocumentFailure(models.Model):
    """The reason why the last attempt to make a document failed; deleted once it is issued."""

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
                violation_error_message="A failure of this document is already recorded.",
            ),
            models.CheckConstraint(
                condition=~Q(reason=""),
                name="document_failure_says_why",
                violation_error_message="A failure needs a reason.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.title}: {self.reason}"
