"""Bank lines that show our transfers."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from benchmarks.triggers import AppendOnly
from engagements.billing.bank_models import BankLine
from engagements.billing.payment_triggers import confirmed_file
from engagements.payouts.models import Transfer
from engagements.payouts.overpayment_models import OverpaymentRefund
from engagements.payouts.triggers import CHECK_MATCH


class TransferMatch(models.Model):
    """A bank line that shows one of our transfers: executed, or returned. Append-only."""

    class Kind(models.TextChoices):
        EXECUTED = "executed", "Executed"
        RETURNED = "returned", "Returned"

    kind = models.CharField(max_length=8, choices=Kind)
    line = models.ForeignKey(BankLine, on_delete=models.PROTECT, related_name="transfer_matches")
    transfer = models.ForeignKey(
        Transfer, on_delete=models.PROTECT, null=True, blank=True, related_name="matches"
    )
    overpayment_refund = models.ForeignKey(
        OverpaymentRefund, on_delete=models.PROTECT, null=True, blank=True, related_name="matches"
    )
    amount = models.DecimalField(max_digits=14, decimal_places=3)
    charges = models.DecimalField(
        max_digits=14,
        decimal_places=3,
        default=0,
        help_text="What the bank kept of a returned refund.",
    )

    class Meta:
        ordering: ClassVar = ["pk"]
        verbose_name_plural = "transfer matches"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["transfer", "kind"],
                name="transfer_match_once",
                violation_error_message="Another bank line already shows this refund.",
            ),
            models.UniqueConstraint(
                fields=["overpayment_refund", "kind"],
                name="transfer_match_overpayment_once",
                violation_error_message="Another bank line already shows this refund.",
            ),
            models.CheckConstraint(
                condition=Q(transfer__isnull=False, overpayment_refund__isnull=True)
                | Q(transfer__isnull=True, overpayment_refund__isnull=False),
                name="transfer_match_is_of_one_refund",
                violation_error_message="A match needs exactly one refund.",
            ),
            models.CheckConstraint(
                condition=Q(amount__gt=0),
                name="transfer_match_amount_is_positive",
                violation_error_message="The amount must be positive.",
            ),
            models.CheckConstraint(
                condition=Q(charges=0)
                | Q(kind="returned", charges__gt=0, charges__lte=F("amount") / 2),
                name="transfer_match_charges_are_of_a_return",
                violation_error_message="The bank's charge is at most half of a returned refund.",
            ),
        ]
        triggers: ClassVar = [AppendOnly(), CHECK_MATCH, confirmed_file("transfermatch")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.transfer or self.overpayment_refund}"
