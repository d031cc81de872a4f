"""Reversals of payments: proposed by one person of finance, approved by another."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q

from benchmarks.triggers import FSM, Protect
from engagements.billing.bank_models import BankLine
from engagements.billing.payment_models import Payment
from engagements.billing.payment_triggers import confirmed_file
from engagements.people.proposals import Decision, decision_constraints, decision_triggers


class PaymentReversal(Decision):
    """The reversal of a received payment, which itself stays recorded.

    Once approved, a payment of the opposite amount refers to it. The bank line of a payment for
    the wrong invoice is open again; a chargeback names the outgoing `bank_line` that shows it.
    """

    KIND = "reversal"
    NOUN = "reversal"

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
            *decision_constraints(),
        ]
        triggers: ClassVar = [
            *decision_triggers("paymentreversal", "reversal", changing=("bank_line",)),
            confirmed_file("paymentreversal"),
            FSM("state", {"proposed": {"posted", "voided"}}),
            Protect(
                name="ended",
                operation=pgtrigger.Update,
                condition=~pgtrigger.Q(old__state="proposed"),
            ),
        ]

    def __str__(self) -> str:
        return f"reversal of {self.payment}"
