"""Delegations of a signature."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from benchmarks.triggers import AppendOnly
from engagements.contracts.models import ContractVersion
from engagements.contracts.triggers import CHECK_DELEGATION
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
