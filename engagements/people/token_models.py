"""Tokens of the API: hashed, scoped, expiring, revocable."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from benchmarks.triggers import Protect, ReadOnly
from engagements.people.models import User


class Scope(models.TextChoices):
    """A permission of a token, within its owner's rights.

    Each scope but `read` also reads the resources that it writes.
    """

    READ = "read", "Read everything that you may see"
    EVIDENCE = "evidence", "Upload evidence"
    RUNS = "runs", "Submit candidates and request runs"
    CONTRACTS = "contracts", "Offer contracts"
    SETTLEMENTS = "settlements", "Propose settlements"
    WEBHOOKS = "webhooks", "Manage webhooks"
    # For the service accounts of runners; the form does not offer it.
    RUNNER = "runner", "Measure runs"


CHOSEN_SCOPES = [each for each in Scope.choices if each[0] != Scope.RUNNER]
"""The scopes that people choose for their tokens."""


class ApiToken(models.Model):
    """A token of a person or a service account. Stored as its SHA-256 and its last characters.

    `owner_state` is a digest of the owner's session hash: the token ends when the owner's
    password, role or access changes. Scopes and expiry never change; a wrong token is revoked.
    """

    owner = models.ForeignKey(User, on_delete=models.PROTECT, related_name="api_tokens")
    name = models.CharField(max_length=80)
    scopes = ArrayField(models.CharField(max_length=16, choices=Scope))
    digest = models.CharField(max_length=64, unique=True, editable=False)
    hint = models.CharField(max_length=4, editable=False)
    owner_state = models.CharField(max_length=64, editable=False)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(digest__regex=r"^[0-9a-f]{64}$"), name="apitoken_digest_is_sha256"
            ),
            models.CheckConstraint(
                condition=Q(expires_at__gt=F("created_at")), name="apitoken_expires_later"
            ),
            models.CheckConstraint(
                condition=Q(scopes__len__gte=1),
                name="apitoken_has_a_scope",
                violation_error_message="Choose at least one scope.",
            ),
            models.CheckConstraint(
                condition=Q(revoked_at__isnull=True, revoked_by__isnull=True)
                | Q(revoked_at__isnull=False, revoked_by__isnull=False),
                name="apitoken_is_revoked_by_somebody",
            ),
        ]
        triggers: ClassVar = [
            ReadOnly(name="identity", exclude=["last_used_at", "revoked_at", "revoked_by"]),
            ReadOnly(
                name="revoked",
                fields=["revoked_at", "revoked_by"],
                condition=pgtrigger.Q(old__revoked_at__isnull=False),
            ),
            Protect(name="deletion", operation=pgtrigger.Delete),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def scope_labels(self) -> list[str]:
        """The scopes in words."""
        return [str(Scope(scope).label) for scope in self.scopes]

    @property
    def is_active(self) -> bool:
        """Whether it may still be used: neither revoked nor expired."""
        return self.revoked_at is None and self.expires_at > timezone.now()
