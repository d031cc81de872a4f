"""The settlement: what goes back to the customer when the target was not met."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Greatest
from django.utils import timezone

from engagements.models.contract import ContractVersion
from engagements.models.people import User


class Settlement(models.Model):
    """Payments received less the audit cost, both gross, in the contract's currency.

    Never negative: where less was paid than the audit cost, `balance_due` is what the customer
    still owes. The figures are fixed when it is proposed. Proposer and approver differ; a
    settlement that followed a verdict by itself has no proposer.
    """

    class State(models.TextChoices):
        PROPOSED = "proposed", "Proposed"
        APPROVED = "approved", "Approved"
        PAYING = "paying", "Paying"
        PAID = "paid", "Paid"
        FAILED = "failed", "Payment failed"
        VOIDED = "voided", "Voided"

    class Reason(models.TextChoices):
        MISSED = "missed", "The target was missed"
        TIME_BOX = "time_box", "The time-box ran out without a met target"

    contract_version = models.ForeignKey(
        ContractVersion, on_delete=models.PROTECT, related_name="settlements"
    )
    reason = models.CharField(max_length=10, choices=Reason)
    state = models.CharField(max_length=10, choices=State, default=State.PROPOSED)
    currency = models.CharField(max_length=3)
    payments_received = models.DecimalField(max_digits=14, decimal_places=3)
    audit_cost = models.DecimalField(max_digits=14, decimal_places=3)
    audit_tax = models.DecimalField(max_digits=14, decimal_places=3)
    refund = models.DecimalField(max_digits=14, decimal_places=3)
    balance_due = models.DecimalField(max_digits=14, decimal_places=3)
    proposed_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    proposed_at = models.DateTimeField(default=timezone.now, editable=False)
    approved_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    approved_at = models.DateTimeField(null=True, blank=True)
    paid_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    paid_at = models.DateTimeField(null=True, blank=True)
    payment_reference = models.CharField(max_length=80, blank=True)
    voided_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    void_reason = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["-proposed_at"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["contract_version"],
                condition=~Q(state="voided"),
                name="settlement_one_live_a_contract",
                violation_error_message="This contract is being settled already.",
            ),
            models.CheckConstraint(
                condition=Q(
                    refund=Greatest(
                        F("payments_received") - F("audit_cost") - F("audit_tax"), Value(0)
                    ),
                    balance_due=Greatest(
                        F("audit_cost") + F("audit_tax") - F("payments_received"), Value(0)
                    ),
                ),
                name="settlement_adds_up",
                violation_error_message="The refund is what was received less the audit cost.",
            ),
            models.CheckConstraint(
                condition=Q(approved_by__isnull=True)
                | Q(proposed_by__isnull=True)
                | ~Q(approved_by=F("proposed_by")),
                name="settlement_is_approved_by_another",
                violation_error_message="Nobody approves a settlement they proposed themselves.",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["proposed", "voided"])
                | Q(approved_by__isnull=False, approved_at__isnull=False),
                name="settlement_is_approved_before_it_is_paid",
                violation_error_message="A settlement is approved before anything is paid.",
            ),
            models.CheckConstraint(
                condition=(~Q(state="paid") & Q(paid_at__isnull=True))
                | (
                    Q(state="paid", paid_by__isnull=False, paid_at__isnull=False)
                    & ~Q(payment_reference="")
                ),
                name="settlement_is_paid_with_a_reference",
                violation_error_message="A paid settlement has a date, a name and a reference.",
            ),
            models.CheckConstraint(
                condition=(~Q(state="voided") & Q(void_reason="", voided_by__isnull=True))
                | (Q(state="voided", voided_by__isnull=False) & ~Q(void_reason="")),
                name="settlement_is_voided_with_a_reason",
                violation_error_message="Who voids a settlement says why.",
            ),
        ]

    def __str__(self) -> str:
        return f"settlement of {self.contract_version}: {self.refund} {self.currency}"
