"""Write-offs: the part of an invoice that will not be paid, by cause."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Abs

from benchmarks.triggers import FSM
from engagements.billing.models import Invoice
from engagements.billing.write_off_triggers import CHECK_WRITE_OFF, LIMIT_ONE_PERSON
from engagements.common.money import MOST_WRITTEN_OFF_ALONE, format_money
from engagements.people.models import User
from engagements.people.proposals import Decision, decision_constraints, decision_triggers


class WriteOff(Decision):
    """A part of an invoice written off: gross, in its currency.

    Up to `limit`, together with the invoice's other write-offs that nobody approved, one person
    posts it; above, another approves it. A settlement reverses it, since it counts all
    payments. Only an exchange difference may be negative: a gain.
    """

    KIND = "write_off"
    NOUN = "write-off"

    class Kind(models.TextChoices):
        BANK_CHARGES = "bank_charges", "Bank charges"
        EXCHANGE = "exchange", "Exchange difference"
        WITHHOLDING = "withholding", "Withholding tax"
        BAD_DEBT = "bad_debt", "Bad debt"

    class State(models.TextChoices):
        PROPOSED = "proposed", "Proposed"
        POSTED = "posted", "Written off"
        VOIDED = "voided", "Voided"
        REVERSED = "reversed", "Reversed"

    invoice = models.ForeignKey(Invoice, on_delete=models.PROTECT, related_name="write_offs")
    kind = models.CharField(max_length=12, choices=Kind)
    amount = models.DecimalField(max_digits=14, decimal_places=3)
    limit = models.DecimalField(
        max_digits=14, decimal_places=3, help_text="The most for one person, that day."
    )
    reason = models.TextField()
    state = models.CharField(max_length=8, choices=State, default=State.PROPOSED)
    ended_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    end_reason = models.TextField(blank=True, help_text="Why it was voided or reversed.")

    class Meta:
        ordering: ClassVar = ["-proposed_at", "-pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(amount__gt=0) | Q(kind="exchange", amount__lt=0),
                name="write_off_amount_is_positive",
                violation_error_message="Only an exchange difference may be negative: a gain.",
            ),
            *decision_constraints(unapproved=Q(limit__gte=Abs("amount"))),
            models.CheckConstraint(
                condition=Q(limit__gte=0, limit__lte=MOST_WRITTEN_OFF_ALONE),
                name="write_off_limit_is_low",
                violation_error_message=f"One person writes off {MOST_WRITTEN_OFF_ALONE} at most.",
            ),
            models.CheckConstraint(
                condition=~Q(reason="")
                & (Q(state__in=["proposed", "posted"], end_reason="") | ~Q(end_reason="")),
                name="write_off_says_why",
                violation_error_message="A write-off needs a reason, and so does its end.",
            ),
        ]
        triggers: ClassVar = [
            *decision_triggers("writeoff", "write_off", changing=("ended_by", "end_reason")),
            FSM("state", {"proposed": {"posted", "voided"}, "posted": {"reversed"}}),
            CHECK_WRITE_OFF,
            LIMIT_ONE_PERSON,
        ]

    def __str__(self) -> str:
        shown = format_money(self.amount, self.invoice.currency)
        return f"{self.get_kind_display()} of {shown} on {self.invoice}"
