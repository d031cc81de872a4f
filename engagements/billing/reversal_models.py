"""Reversals of payments: proposed by one person of finance, approved by another."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import FSM, Protect, ReadOnly
from engagements.billing.payment_models import BankLine, Payment
from engagements.people.models import User
from engagements.people.triggers import second_person


class PaymentReversal(models.Model):
    """The reversal of a received payment, which itself stays recorded.

    Once approved, a payment of the opposite amount refers to it. The bank line of a payment for
    the wrong invoice is open again; a chargeback names the outgoing `bank_line` that shows it.
    """

    class Cause(models.TextChoices):
        MISTYPED = "mistyped", "Keyed by mistake"
        OTHER_INVOICE = "other_invoice", "Assigned to the wrong invoice"
        CHARGEBACK = "chargeback", "Taken back by the payer's bank"

    class State(models.TextChoices):
        PROPOSED = "proposed", "Proposed"
        POSTED = "posted", "Reversed"
        VOIDED = "voided", "Voided"

    payment = models.ForeignKey(Payment, on_delete=models.PROTECT, related_name="reversals")
    cause = models.CharField(max_length=14, choices=Cause)
    reason = models.TextField()
    dated_on = models.DateField(help_text="The bank's value date of a chargeback.")
    bank_line = models.OneToOneField(
        BankLine, on_delete=models.PROTECT, null=True, blank=True, related_name="reversal"
    )
    state = models.CharField(max_length=8, choices=State, default=State.PROPOSED)
    proposed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField(default=timezone.now, editable=False)
    approved_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["payment"],
                condition=~Q(state="voided"),
                name="payment_reversal_once",
                violation_error_message="A reversal of this payment is already proposed.",
            ),
            models.CheckConstraint(
                condition=~Q(reason="") & (Q(cause="chargeback") | Q(bank_line__isnull=True)),
                name="payment_reversal_says_why",
                violation_error_message="A reversal needs a reason.",
            ),
            models.CheckConstraint(
                condition=Q(state="posted", approved_by__isnull=False, ended_at__isnull=False)
                | Q(state="proposed", approved_by__isnull=True, ended_at__isnull=True)
                | Q(state="voided", approved_by__isnull=True, ended_at__isnull=False),
                name="payment_reversal_is_approved",
                violation_error_message="A second person approves a reversal.",
            ),
        ]
        triggers: ClassVar = [
            Protect(name="deletion", operation=pgtrigger.Delete),
            Protect(
                name="start",
                operation=pgtrigger.Insert,
                condition=~pgtrigger.Q(new__state="proposed"),
            ),
            FSM("state", {"proposed": {"posted", "voided"}}),
            ReadOnly(name="terms", exclude=["state", "approved_by", "ended_at", "bank_line"]),
            Protect(
                name="ended",
                operation=pgtrigger.Update,
                condition=~pgtrigger.Q(old__state="proposed"),
            ),
            second_person(
                name="approved_by_another",
                code="paymentreversal.approved_by_another",
                by="NEW.approved_by_id",
                others=("NEW.proposed_by_id",),
                subject="'reversal:' || NEW.id",
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(new__approved_by__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"reversal of {self.payment}"

    @property
    def subject(self) -> str:
        """Its name in approvals of a sole owner."""
        return f"reversal:{self.pk}"
