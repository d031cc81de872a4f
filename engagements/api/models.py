"""Answers of writes that carried an Idempotency-Key."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone

from engagements.people.models import User


class IdempotentRequest(models.Model):
    """A write of `caller` under their `key`, and its answer. Kept for a week."""

    caller = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.JSONField(null=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False, db_index=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["caller", "key"], name="idempotent_request_once"),
        ]

    def __str__(self) -> str:
        return f"{self.key} of {self.caller}"
