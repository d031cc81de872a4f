"""Delegations of a signature, and PDFs that the customer signed elsewhere."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from benchmarks.triggers import AppendOnly
from engagements.contracts.models import ContractVersion
from engagements.contracts.triggers import CHECK_DELEGATION
from engagements.documents.models import Document
from engagements.people.models import User


class Delegation(models.Model):
    """The transfer of the right to sign one version, from its sole signatory to another signatory
    of the customer. Append-only; the newest one counts."""

    contract_version = models.ForeignKey(
        ContractVersion, on_delete=models.PROTECT, related_name="delegations"
    )
    delegator = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    delegate = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    delegated_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=~Q(delegator=F("delegate")),
                name="delegation_is_to_another_person",
                violation_error_message="Choose another signatory.",
            ),
        ]
        triggers: ClassVar = [AppendOnly(), CHECK_DELEGATION]

    def __str__(self) -> str:
        return f"{self.delegator} to {self.delegate}"


class Countersignature(models.Model):
    """An issued PDF of a contract with the customer's signature appended elsewhere. Append-only.

    `signer` is the subject of the signer's `certificate` (PEM) and `fingerprint` its SHA-256;
    `signed_at` is the time that the signature states. `digest` is that of the file.
    """

    contract_version = models.ForeignKey(
        ContractVersion, on_delete=models.PROTECT, related_name="countersignatures"
    )
    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="+")
    uploaded_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    content = models.BinaryField()
    digest = models.CharField(max_length=71, db_index=True)
    signer = models.TextField()
    certificate = models.TextField()
    fingerprint = models.CharField(max_length=95)
    signed_at = models.DateTimeField(null=True, blank=True)
    uploaded_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["contract_version", "digest"],
                name="countersignature_once",
                violation_error_message="This file is already stored.",
            ),
            models.CheckConstraint(
                condition=Q(digest__regex=r"^sha256:[0-9a-f]{64}$") & ~Q(certificate=""),
                name="countersignature_has_digest_and_certificate",
                violation_error_message="A signed PDF needs its SHA-256 and a certificate.",
            ),
        ]
        triggers: ClassVar = [AppendOnly()]

    def __str__(self) -> str:
        return f"{self.contract_version}, signed by {self.signer}"
