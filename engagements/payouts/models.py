"""Transfers of refunds to customers, and their bank files."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import AppendOnly, Protect, ReadOnly
from engagements.common.money import format_money
from engagements.payouts.triggers import (
    APPROVER_SET_NO_ACCOUNT,
    CHECK_ACCOUNT,
    CHECK_TRANSFER,
    FAILED_BY_ANOTHER,
    STARTED_BY_ANOTHER,
)
from engagements.people.bank_accounts import BankAccount
from engagements.people.models import User
from engagements.people.triggers import by_finance
from engagements.settlements.models import Settlement


class TransferFile(models.Model):
    """A SEPA credit transfer file (pain.001) as made. Append-only."""

    message_id = models.CharField(max_length=35, unique=True)
    currency = models.CharField(max_length=3)
    total = models.DecimalField(max_digits=14, decimal_places=3)
    content = models.BinaryField()
    digest = models.CharField(max_length=71)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-made_at", "-pk"]
        triggers: ClassVar = [
            AppendOnly(),
            by_finance("transferfile", "made_by_id"),
        ]

    def __str__(self) -> str:
        return self.message_id


class Transfer(models.Model):
    """One attempt to transfer the refund of a settlement, with its payee and outcome."""

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
    account = models.ForeignKey(
        BankAccount, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    end_to_end_id = models.CharField(max_length=35, unique=True)
    file = models.ForeignKey(
        TransferFile, on_delete=models.PROTECT, null=True, blank=True, related_name="transfers"
    )
    started_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    started_at = models.DateTimeField(default=timezone.now, editable=False)
    outcome = models.CharField(max_length=8, choices=Outcome, default=Outcome.UNDER_WAY, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    valued_on = models.DateField(
        null=True, blank=True, help_text="The bank's value date of an executed transfer."
    )
    reference = models.CharField(max_length=80, blank=True)
    failure_reason = models.TextField(blank=True)
    failed_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering: ClassVar = ["settlement", "-attempt"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["settlement", "attempt"], name="transfer_attempt_once"),
            models.UniqueConstraint(
                fields=["settlement"],
                condition=~Q(outcome="failed"),
                name="transfer_one_that_has_not_failed",
                violation_error_message="A transfer of this settlement is already under way.",
            ),
            models.CheckConstraint(
                condition=Q(method="by_hand", file__isnull=True)
                | (Q(method="sepa", file__isnull=False) & ~Q(iban="") & ~Q(payee="")),
                name="transfer_by_file_names_its_payee",
                violation_error_message="A transfer by file needs its file and its payee.",
            ),
            models.CheckConstraint(
                condition=Q(
                    outcome="",
                    ended_at__isnull=True,
                    valued_on__isnull=True,
                    reference="",
                    failure_reason="",
                    failed_by__isnull=True,
                )
                | (
                    Q(outcome="paid", ended_at__isnull=False, failure_reason="")
                    & Q(valued_on__isnull=False, failed_by__isnull=True)
                    & ~Q(reference="")
                )
                | (
                    Q(outcome="failed", ended_at__isnull=False, failed_by__isnull=False)
                    & ~Q(failure_reason="")
                ),
                name="transfer_ends_with_a_reference_or_a_reason",
                violation_error_message="An ended transfer needs a reference or a reason.",
            ),
        ]
        triggers: ClassVar = [
            Protect(name="deletion", operation=pgtrigger.Delete),
            ReadOnly(
                name="order",
                exclude=[
                    *("outcome", "ended_at", "valued_on", "reference"),
                    *("failure_reason", "failed_by"),
                ],
            ),
            Protect(
                name="ended",
                operation=pgtrigger.Update,
                # A bank may return a transfer that it has executed.
                condition=pgtrigger.Q(old__outcome="failed")
                | (pgtrigger.Q(old__outcome="paid") & ~pgtrigger.Q(new__outcome="failed")),
            ),
            by_finance("transfer", "started_by_id", "failed_by_id"),
            CHECK_TRANSFER,
            CHECK_ACCOUNT,
            STARTED_BY_ANOTHER,
            APPROVER_SET_NO_ACCOUNT,
            FAILED_BY_ANOTHER,
        ]

    def __str__(self) -> str:
        return f"{self.end_to_end_id}: {format_money(self.amount, self.currency)}"
