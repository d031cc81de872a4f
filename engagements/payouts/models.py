"""An overpayment on its way back: one person proposes it, another sends it."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.common.money import format_money
from engagements.payouts.transfer_models import Transfer, TransferFile
from engagements.people.models import User


class PayBack(models.Model):
    """Money beyond what an invoice asks, to be transferred back: `amount`, gross, in the
    invoice's currency.

    Sent, it leaves the invoice as the payment `left`: money in flight counts as gone. Where the
    bank does not make the transfer, the same amount arrives there again (`Payment.moved_from`),
    and another one may be proposed.
    """

    class State(models.TextChoices):
        PROPOSED = "proposed", "Proposed"
        PAYING = "paying", "On its way"
        PAID = "paid", "Paid"
        FAILED = "failed", "Transfer failed"
        VOIDED = "voided", "Voided"

    # Somebody has to do something about it.
    OPEN: ClassVar = (State.PROPOSED, State.PAYING)

    invoice = models.ForeignKey(Invoice, on_delete=models.PROTECT, related_name="pay_backs")
    amount = models.DecimalField(max_digits=14, decimal_places=3)
    state = models.CharField(max_length=8, choices=State, default=State.PROPOSED)
    proposed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField(default=timezone.now, editable=False)
    sent_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    sent_at = models.DateTimeField(null=True, blank=True)
    left = models.OneToOneField(
        Payment, on_delete=models.PROTECT, null=True, related_name="pay_back"
    )
    method = models.CharField(max_length=8, choices=Transfer.Method, blank=True)
    payee = models.CharField(max_length=70, blank=True)
    iban = models.CharField("IBAN", max_length=34, blank=True)
    bic = models.CharField("BIC", max_length=11, blank=True)
    file = models.ForeignKey(
        TransferFile, on_delete=models.PROTECT, null=True, blank=True, related_name="pay_backs"
    )
    ended_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    ended_at = models.DateTimeField(null=True, blank=True)
    reference = models.CharField(max_length=80, blank=True)
    end_reason = models.TextField(blank=True, help_text="Why it failed, or was voided.")

    class Meta:
        ordering: ClassVar = ["-proposed_at", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["invoice"],
                condition=Q(state__in=["proposed", "paying"]),
                name="pay_back_one_open_an_invoice",
                violation_error_message="What is too much of this invoice is being paid back.",
            ),
            models.CheckConstraint(
                condition=Q(amount__gt=0),
                name="pay_back_is_more_than_nothing",
                violation_error_message="What goes back is more than nothing.",
            ),
            models.CheckConstraint(
                condition=Q(sent_by__isnull=True) | ~Q(sent_by=F("proposed_by")),
                name="pay_back_is_sent_by_another",
                violation_error_message="Nobody sends what they proposed to pay back themselves.",
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
                name="pay_back_leaves_when_it_is_sent",
                violation_error_message="Money leaves the invoice exactly when it is sent.",
            ),
            models.CheckConstraint(
                condition=Q(file__isnull=True) & ~Q(method="sepa")
                | (Q(method="sepa", file__isnull=False) & ~Q(iban="") & ~Q(payee="")),
                name="pay_back_by_file_names_its_payee",
                violation_error_message="A transfer by file names its file and its payee.",
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=["proposed", "paying"],
                    ended_by__isnull=True,
                    ended_at__isnull=True,
                    reference="",
                    end_reason="",
                )
                | (
                    Q(ended_by__isnull=False, ended_at__isnull=False)
                    & (
                        (Q(state="paid", end_reason="") & ~Q(reference=""))
                        | (Q(state__in=["failed", "voided"], reference="") & ~Q(end_reason=""))
                    )
                ),
                name="pay_back_ends_with_a_reference_or_a_reason",
                violation_error_message="A transfer ends with a reference, or with a reason.",
            ),
        ]

    def __str__(self) -> str:
        return f"{format_money(self.amount, self.invoice.currency)} beyond {self.invoice}"

    @property
    def is_open(self) -> bool:
        """Whether somebody has to do something about it."""
        return self.state in self.OPEN
