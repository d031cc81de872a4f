"""Governing clauses by slug and number, and their place in a contract."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import AppendOnly
from engagements.contracts.models import ContractVersion
from engagements.contracts.triggers import freeze_parts
from engagements.people.models import User


class Clause(models.Model):
    """One published number of a clause: a template for counsel, not legal advice.

    Append-only: a change is the next number, and contracts keep theirs. `text` has placeholders
    and variants as in `template`; `digest` is that of the text alone. `guidance` is for the
    consultant and never part of a contract.
    """

    slug = models.SlugField(max_length=40)
    number = models.PositiveSmallIntegerField()
    title = models.CharField(max_length=120)
    text = models.TextField()
    guidance = models.TextField(blank=True)
    digest = models.CharField(max_length=71, db_index=True)
    published_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    published_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["slug", "-number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["slug", "number"], name="clause_number_once"),
            models.CheckConstraint(
                condition=Q(digest__regex=r"^sha256:[0-9a-f]{64}$") & ~Q(title="") & ~Q(text=""),
                name="clause_has_a_text_and_its_digest",
                violation_error_message="Enter a title and a text.",
            ),
        ]
        triggers: ClassVar = [
            AppendOnly(),
        ]

    def __str__(self) -> str:
        return f"{self.title}, number {self.number}"


class ContractClause(models.Model):
    """A clause at its place in a version of the contract; fixed once that version is sealed."""

    contract_version = models.ForeignKey(
        ContractVersion, on_delete=models.CASCADE, related_name="clauses"
    )
    clause = models.ForeignKey(Clause, on_delete=models.PROTECT, related_name="+")
    position = models.PositiveSmallIntegerField()

    class Meta:
        ordering: ClassVar = ["contract_version", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["contract_version", "position"], name="contract_clause_position_once"
            ),
            models.UniqueConstraint(
                fields=["contract_version", "clause"], name="contract_clause_once"
            ),
        ]
        triggers: ClassVar = [
            freeze_parts(),
        ]

    def __str__(self) -> str:
        return f"{self.position}. {self.clause}"
