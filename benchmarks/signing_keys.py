"""Model: the public halves of referees' keys."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import Protect, ReadOnly


class SigningKey(models.Model):
    """The public half of a referee's key. Append-only, except that it ends once in each way.

    A retired key signs no further record, and its records are as good as before. A revoked one may
    have leaked, so that its records are reviewed.

    `name` is the worker or machine with the private half; `public_key` is PEM. `owner` is empty
    for the consultancy's keys, else the party whose runs the key may sign (`Run.measured_by`).
    """

    key_id = models.CharField(max_length=16, unique=True)
    name = models.CharField(max_length=120)
    public_key = models.TextField()
    owner = models.CharField(max_length=40, blank=True, editable=False)
    added_by = models.CharField(max_length=200)
    added_at = models.DateTimeField(default=timezone.now, editable=False)
    retired_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-added_at", "-pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(key_id__regex=r"^[0-9a-f]{16}$"),
                name="signing_key_has_its_id",
                violation_error_message="A key id has 16 hexadecimal digits.",
            ),
        ]
        triggers: ClassVar = [
            Protect(name="deletion", operation=pgtrigger.Delete),
            ReadOnly(name="identity", exclude=["retired_at", "revoked_at"]),
            ReadOnly(
                name="retirement",
                fields=["retired_at"],
                condition=pgtrigger.Q(old__retired_at__isnull=False),
            ),
            ReadOnly(
                name="revocation",
                fields=["revoked_at"],
                condition=pgtrigger.Q(old__revoked_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.key_id})"
