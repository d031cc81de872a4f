"""Refunds of overpayments."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q

from benchmarks.triggers import FSM, Protect, ReadOnly
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.common.money import format_money
from engagements.payouts.models import Transfer, TransferFile
from engagements.payouts.triggers import (
    CHECK_ACCOUNT_OF_OVERPAYMENT,
    CHECK_FAILED,
    CHECK_SENT,
    OVERPAYMENT_FAILED_BY_ANOTHER,
    SENT_BY_ANOTHER,
)
from engagements.people.bank_accounts import BankAccount
from engagements.people.models import User
from engagements.people.proposals import Proposal
from engagements.people.triggers import by_finance


class OverpaymentRefund(Proposal):
    """The refund of an overpayment: `amount`, gross, in the invoice's currency.

    Once sent, the money leaves the invoice as the payment `left`. A failed transfer returns it as
    another payment (`Payment.moved_from`), and a new refund may be proposed.
    """

    KIND = "overpayment_refund"
    NOUN = "refund"

    class State(models.TextChoices):
        PROPOSED = "proposed", "Proposed"
        PAYING = "paying", "On its way"
        PAID = "paid", "Paid"
        FAILED = "failed", "Transfer failed"
        VOIDED = "voided", "Voided"

    OPEN: ClassVar = (State.PROPOSED, State.PAYING)

    invoice = models.ForeignKey(
        Invoice, on_delete=models.PROTECT, related_name="overpayment_refunds"
    )
    amount = models.DecimalField(max_digits=14, decimal_places=3)
    state = models.CharField(max_length=8, choices=State, default=State.PROPOSED)
    sent_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    sent_at = models.DateTimeField(null=True, blank=True)
    left = models.OneToOneField(
        Payment, on_delete=models.PROTECT, null=True, related_name="overpayment_refund"
    )
    method = models.CharField(max_length=8, choices=Transfer.Method, blank=True)
    payee = models.CharField(max_length=70, blank=True)
    iban = models.CharField("IBAN", max_length=34, blank=True)
    bic = models.CharField("BIC", max_length=11, blank=True)
    account = models.ForeignKey(
        BankAccount, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    file = models.ForeignKey(
        TransferFile,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="overpayment_refunds",
    )
    ended_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    ended_at = models.DateTimeField(null=True, blank=True)
    valued_on = models.DateField(
        null=True, blank=True, help_text="The bank's value date of an executed transfer."
    )
    reference = models.CharField(max_length=80, blank=True)
    end_reason = models.TextField(blank=True, help_text="Why it failed, or was voided.")

    class Meta:
        db_table = "engagements_payback"
        ordering: ClassVar = ["-proposed_at", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["invoice"],
                condition=Q(state__in=["proposed", "paying"]),
                name="overpayment_refund_one_open_an_invoice",
                violation_error_message="A refund of this overpayment is already open.",
            ),
            models.CheckConstraint(
                condition=Q(amount__gt=0),
                name="overpayment_refund_is_more_than_nothing",
                violation_error_message="The amount must be greater than zero.",
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=["proposed", "voided"],
                    sent_by__isnull=True,
                    sent_at__isnull=True,
                    left__isnull=True,
                    method="",
                )
                | Q(
                    ~Q(method=""),
                    state__in=["paying", "paid", "failed"],
                    sent_by__isnull=False,
                    sent_at__isnull=False,
                    left__isnull=False,
                ),
                name="overpayment_refund_leaves_when_it_is_sent",
                violation_error_message="A refund leaves its invoice when it is sent.",
            ),
            models.CheckConstraint(
                condition=Q(file__isnull=True) & ~Q(method="sepa")
                | (Q(method="sepa", file__isnull=False) & ~Q(iban="") & ~Q(payee="")),
                name="overpayment_refund_by_file_names_its_payee",
                violation_error_message="A transfer by file needs its file and its payee.",
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=["proposed", "paying"],
                    ended_by__isnull=True,
                    ended_at__isnull=True,
                    valued_on__isnull=True,
                    reference="",
                    end_reason="",
                )
                | (
                    Q(ended_by__isnull=False, ended_at__isnull=False)
                    & (
                        (Q(state="paid", end_reason="", valued_on__isnull=False) & ~Q(reference=""))
                        | (Q(state="voided", reference="") & ~Q(end_reason=""))
                        | (Q(state="failed") & ~Q(end_reason=""))
                    )
                ),
                name="overpayment_refund_ends_with_a_reference_or_a_reason",
                violation_error_message="An ended transfer needs a reference or a reason.",
            ),
        ]
        triggers: ClassVar = [
            Protect(name="deletion", operation=pgtrigger.Delete),
            Protect(
                name="start",
                operation=pgtrigger.Insert,
                condition=~pgtrigger.Q(new__state="proposed"),
            ),
            Protect(
                name="unmoved",
                operation=pgtrigger.Update,
                condition=pgtrigger.Condition("NEW.state = OLD.state"),
            ),
            FSM(
                "state",
                {
                    "proposed": {"paying", "voided"},
                    "paying": {"paid", "failed"},
                    "paid": {"failed"},
                },
            ),
            ReadOnly(
                name="terms_when_sent",
                exclude=[
                    "state",
                    "sent_by",
                    "sent_at",
                    "left",
                    "method",
                    "payee",
                    "iban",
                    "bic",
                    "account",
                    "file",
                ],
                condition=pgtrigger.Q(new__state="paying"),
            ),
            ReadOnly(
                name="terms",
                exclude=["state", "ended_by", "ended_at", "valued_on", "reference", "end_reason"],
                condition=~pgtrigger.Q(new__state="paying"),
            ),
            CHECK_SENT,
            CHECK_FAILED,
            CHECK_ACCOUNT_OF_OVERPAYMENT,
            SENT_BY_ANOTHER,
            OVERPAYMENT_FAILED_BY_ANOTHER,
            by_finance("overpaymentrefund", "proposed_by_id", "sent_by_id", "ended_by_id"),
        ]

    def __str__(self) -> str:
        shown = format_money(self.amount, self.invoice.currency)
        return f"refund of {shown} overpaid on {self.invoice}"

    @property
    def is_open(self) -> bool:
        """Whether it is proposed or on its way."""
        return self.state in self.OPEN
