"""Refunds on their way: the customer's bank account, one transfer an attempt, and bank files."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from engagements.common.money import format_money
from engagements.people.models import User
from engagements.settlements.models import Settlement


class TransferFile(models.Model):
    """A SEPA credit transfer file (pain.001) as it was made. Append-only."""

    message_id = models.CharField(max_length=35, unique=True)
    currency = models.CharField(max_length=3)
    total = models.DecimalField(max_digits=14, decimal_places=3)
    content = models.BinaryField()
    digest = models.CharField(max_length=71)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-made_at", "-pk"]

    def __str__(self) -> str:
        return self.message_id


class Transfer(models.Model):
    """One attempt to pay a settlement: to whom, how, and how it ended. Ended once."""

    class Method(models.TextChoices):
        SEPA = "sepa", "SEPA file"
        BY_HAND = "by_hand", "By hand"

    class Outcome(models.TextChoices):
        UNDER_WAY = "", "Under way"
        PAID = "paid", "Paid"
        FAILED = "failed", "Failed"

    settlement = models.ForeignKey(Settlement, on_delete=models.PROTECT, related_name="transfers")
    attempt = models.PositiveSmallIntegerField()
    method = models.CharField(max_length=8, choices=Method)
    amount = models.DecimalField(max_digits=14, decimal_places=3)
    currency = models.CharField(max_length=3)
    payee = models.CharField(max_length=70, blank=True)
    iban = models.CharField("IBAN", max_length=34, blank=True)
    bic = models.CharField("BIC", max_length=11, blank=True)
    end_to_end_id = models.CharField(max_length=35, unique=True)
    file = models.ForeignKey(
        TransferFile, on_delete=models.PROTECT, null=True, blank=True, related_name="transfers"
    )
    started_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    started_at = models.DateTimeField(default=timezone.now, editable=False)
    outcome = models.CharField(max_length=8, choices=Outcome, default=Outcome.UNDER_WAY, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    reference = models.CharField(max_length=80, blank=True)
    failure_reason = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["settlement", "-attempt"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["settlement", "attempt"], name="transfer_attempt_once"),
            models.UniqueConstraint(
                fields=["settlement"],
                condition=~Q(outcome="failed"),
                name="transfer_one_that_has_not_failed",
                violation_error_message="This settlement is being paid already.",
            ),
            models.CheckConstraint(
                condition=Q(method="by_hand", file__isnull=True)
                | (Q(method="sepa", file__isnull=False) & ~Q(iban="") & ~Q(payee="")),
                name="transfer_by_file_names_its_payee",
                violation_error_message="A transfer by file names its file and its payee.",
            ),
            models.CheckConstraint(
                condition=Q(outcome="", ended_at__isnull=True, reference="", failure_reason="")
                | (Q(outcome="paid", ended_at__isnull=False, failure_reason="") & ~Q(reference=""))
                | (Q(outcome="failed", ended_at__isnull=False) & ~Q(failure_reason="")),
                name="transfer_ends_with_a_reference_or_a_reason",
                violation_error_message="A transfer ends with a reference, or with a reason.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.end_to_end_id}: {format_money(self.amount, self.currency)}"
