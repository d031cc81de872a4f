"""Payments, and imported bank statements with their lines."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import AppendOnly
from engagements.billing.bank_models import BankLine
from engagements.billing.models import Invoice
from engagements.billing.payment_triggers import (
    CHECK_CONFIRMATION,
    CHECK_MOVE,
    CHECK_OVERPAYMENT,
    CHECK_RECEIPT,
    CHECK_RETURN,
    CHECK_REVERSAL,
    confirmed_file,
    limit_refunds,
)
from engagements.common.money import format_money
from engagements.people.models import User
from engagements.people.triggers import by_finance, second_person

# A payment reference has 80 characters; the suffix of a repeated or reversed one takes 11.
REFERENCE_HEAD = 69


class Payment(models.Model):
    """A payment on an issued invoice: gross, in its currency. Append-only.

    An overpayment leaves the invoice as a negative payment: `moved`, with a positive counterpart
    on another invoice that refers to it by `moved_from`, or `paid_back`. A refund returned by the
    bank is `came_back`, `moved_from` the negative payment. A received payment that is undone is
    followed by a `reversed` one, `moved_from` it. The sum is the amount received.
    """

    class Kind(models.TextChoices):
        RECEIVED = "received", "Received"
        MOVED = "moved", "Moved"
        PAID_BACK = "paid_back", "Paid back"
        CAME_BACK = "came_back", "Came back"
        REVERSED = "reversed", "Reversed"

    invoice = models.ForeignKey(Invoice, on_delete=models.PROTECT, related_name="payments")
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.RECEIVED)
    amount = models.DecimalField(max_digits=14, decimal_places=3)
    received_on = models.DateField(help_text="Or the date on which it left the invoice.")
    reference = models.CharField(max_length=80, help_text="As on the bank statement.")
    bank_line = models.ForeignKey(
        BankLine, on_delete=models.PROTECT, null=True, blank=True, related_name="payments"
    )
    bank_amount = models.DecimalField(
        max_digits=14,
        decimal_places=3,
        null=True,
        blank=True,
        help_text="The amount of the bank line, if it is in another currency than the invoice.",
    )
    moved_from = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="moved_to"
    )
    recorded_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    recorded_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["received_on", "pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["invoice", "reference"],
                name="payment_is_recorded_once",
                violation_error_message="A payment with this reference is already recorded.",
            ),
            models.CheckConstraint(
                condition=~Q(kind="received") | Q(amount__gt=0),
                name="payment_amount_is_positive",
                violation_error_message="The amount must be positive.",
            ),
            models.CheckConstraint(
                condition=Q(kind="received", moved_from__isnull=True)
                | Q(kind="moved", moved_from__isnull=True, amount__lt=0)
                | Q(kind="moved", moved_from__isnull=False, amount__gt=0)
                | Q(kind="paid_back", moved_from__isnull=True, amount__lt=0)
                | Q(kind="came_back", moved_from__isnull=False, amount__gt=0)
                | Q(kind="reversed", moved_from__isnull=False, amount__lt=0),
                name="payment_leaves_or_arrives",
                violation_error_message="Amounts that leave an invoice are negative; those that "
                "arrive refer to their origin.",
            ),
            models.CheckConstraint(
                condition=Q(kind="received")
                | Q(kind="reversed")
                | Q(bank_line__isnull=True, bank_amount__isnull=True),
                name="payment_of_the_bank_is_received",
                violation_error_message="Only received payments have a bank line.",
            ),
            models.CheckConstraint(
                condition=Q(bank_amount__isnull=True)
                | Q(bank_amount__gt=0, kind="received", bank_line__isnull=False)
                | Q(bank_amount__lt=0, kind="reversed", bank_line__isnull=False),
                name="payment_in_another_currency_has_its_line",
                violation_error_message="A payment in another currency needs its bank line.",
            ),
        ]
        triggers: ClassVar = [
            AppendOnly(),
            by_finance("payment", "recorded_by_id"),
            CHECK_RECEIPT,
            confirmed_file("payment"),
            CHECK_OVERPAYMENT,
            CHECK_MOVE,
            CHECK_RETURN,
            CHECK_REVERSAL,
            # A payment that the bank takes back is gone, whatever was refunded.
            limit_refunds(
                engagement="engagements_invoice WHERE id = NEW.invoice_id",
                operation=pgtrigger.Insert,
                condition=pgtrigger.Q(new__amount__lt=0) & ~pgtrigger.Q(new__kind="reversed"),
            ),
        ]

    def __str__(self) -> str:
        return f"{format_money(self.amount, self.invoice.currency)} on {self.received_on}"

    @property
    def exchange_rate(self) -> Decimal | None:
        """The price of one unit of the bank line's currency in the invoice's; six decimals."""
        if self.bank_amount is None:
            return None
        return (self.amount / self.bank_amount).quantize(Decimal("0.000001"))

    @property
    def subject(self) -> str:
        """Its name in approvals of a sole owner."""
        return f"payment:{self.pk}"

    @property
    def is_confirmed(self) -> bool:
        """Whether a bank line or a second person confirms it. Reads `confirmation`: select it."""
        if self.kind != self.Kind.RECEIVED or self.bank_line_id is not None:
            return True
        return getattr(self, "confirmation", None) is not None

    @property
    def description(self) -> str:
        """The kind in words, with the other invoice of a moved payment."""
        if self.kind in (self.Kind.PAID_BACK, self.Kind.CAME_BACK, self.Kind.REVERSED):
            return self.get_kind_display().lower()
        if self.kind == self.Kind.RECEIVED:
            return "received"
        if self.moved_from is not None:
            return f"moved from {self.moved_from.invoice.reference}"
        return f"moved to {self.moved_to.invoice.reference}"


class PaymentConfirmation(models.Model):
    """The confirmation of a payment keyed by hand. Append-only.

    With `bank_line` the statement confirms it, otherwise a second person who compared it with
    the bank's records. Until then it counts towards no refund.
    """

    payment = models.OneToOneField(Payment, on_delete=models.PROTECT, related_name="confirmation")
    bank_line = models.OneToOneField(
        BankLine, on_delete=models.PROTECT, null=True, blank=True, related_name="confirmation"
    )
    confirmed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    confirmed_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        triggers: ClassVar = [
            AppendOnly(),
            by_finance("paymentconfirmation", "confirmed_by_id"),
            CHECK_CONFIRMATION,
            confirmed_file("paymentconfirmation"),
            second_person(
                name="second_person",
                code="paymentconfirmation.second_person",
                by="NEW.confirmed_by_id",
                others=(
                    "(SELECT recorded_by_id FROM engagements_payment WHERE id = NEW.payment_id)",
                ),
                subject="'payment:' || NEW.payment_id",
                operation=pgtrigger.Insert,
                condition=pgtrigger.Q(new__bank_line__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"confirmation of {self.payment_id}"
