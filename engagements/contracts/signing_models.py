"""Signatures of a contract: acceptances, delegations, and PDFs signed elsewhere."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from benchmarks.triggers import AppendOnly
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.triggers import CHECK_ACCEPTANCE, CHECK_DELEGATION
from engagements.documents.models import Document
from engagements.people.models import User


class Acceptance(models.Model):
    """One party's signature of exactly one digest, with its evidence. Append-only.

    `consent` is the sentence that was agreed to, `exclusion_consent` the one for an excluded
    baseline, empty where the terms have none; `second_factor_at` is when the session's second
    factor was entered, None without one.
    """

    contract_version = models.ForeignKey(
        ContractVersion, on_delete=models.PROTECT, related_name="acceptances"
    )
    party = models.CharField(max_length=12, choices=Party)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    typed_name = models.CharField(max_length=120)
    digest = models.CharField(max_length=71)
    address = models.GenericIPAddressField("IP address", null=True, blank=True)
    signed_in_at = models.DateTimeField(
        null=True, blank=True, help_text="Time of the last sign-in."
    )
    consent = models.TextField()
    exclusion_consent = models.TextField(blank=True)
    user_agent = models.CharField(max_length=400, blank=True)
    second_factor_at = models.DateTimeField(null=True, blank=True)
    accepted_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["accepted_at"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["contract_version", "party"],
                name="acceptance_once_a_party",
                violation_error_message="This party has accepted these terms.",
            ),
            models.CheckConstraint(
                condition=~Q(typed_name="") & ~Q(consent=""),
                name="acceptance_has_a_typed_name",
                violation_error_message="Enter your full name.",
            ),
        ]
        triggers: ClassVar = [
            AppendOnly(),
            CHECK_ACCEPTANCE,
        ]

    def __str__(self) -> str:
        return f"{self.party} accepted {self.digest[:19]}…"


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
