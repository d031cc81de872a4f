"""Payments, and imported bank statements with their lines."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import CHANGES, AppendOnly, Protect, ReadOnly
from engagements.billing.models import Invoice
from engagements.billing.payment_triggers import (
    CHECK_CONFIRMATION,
    CHECK_MOVE,
    CHECK_OVERPAYMENT,
    CHECK_RECEIPT,
    CHECK_RETURN,
    CHECK_REVERSAL,
    KEEP_HANDLED_LINE,
    limit_refunds,
)
from engagements.common.money import format_money
from engagements.people.models import User
from engagements.people.triggers import second_person

# A payment reference has 80 characters; the suffix of a repeated or reversed one takes 11.
REFERENCE_HEAD = 69


class BankImport(models.Model):
    """An imported bank file, stored unchanged. The same bytes are imported once.

    `layout` is the column layout of a CSV, remembered by `heading`, the digest of its first row.
    `repeated_count` is None until the file is parsed.
    """

    class Format(models.TextChoices):
        CAMT053 = "camt053", "CAMT.053"
        CSV = "csv", "CSV"

    format = models.CharField(max_length=8, choices=Format)
    filename = models.CharField(max_length=160)
    content = models.BinaryField()
    digest = models.CharField(max_length=71)
    heading = models.CharField(max_length=71, blank=True)
    layout = models.JSONField(null=True, blank=True)
    repeated_count = models.PositiveIntegerField(null=True, blank=True)
    passed_over_count = models.PositiveIntegerField(null=True, blank=True)
    imported_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    imported_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-imported_at", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["digest"],
                name="bank_import_once",
                violation_error_message="This file is already imported.",
            ),
        ]
        triggers: ClassVar = [
            Protect(
                name="read",
                operation=CHANGES,
                condition=pgtrigger.Q(old__repeated_count__isnull=False),
            ),
            ReadOnly(name="original", exclude=["layout", "repeated_count", "passed_over_count"]),
        ]

    def __str__(self) -> str:
        return self.filename


class BankStatement(models.Model):
    """The balances of one of our accounts in one file. Append-only.

    `chain_start` and `chain_end` are the first and the last known balance of the account after
    this file: their difference is the sum of all lines of the account. All four are None in files
    without balances.
    """

    bank_import = models.ForeignKey(BankImport, on_delete=models.PROTECT, related_name="statements")
    account = models.CharField("IBAN", max_length=34)
    currency = models.CharField(max_length=3)
    opening = models.DecimalField(max_digits=14, decimal_places=3, null=True)
    closing = models.DecimalField(max_digits=14, decimal_places=3, null=True)
    chain_start = models.DecimalField(max_digits=14, decimal_places=3, null=True)
    chain_end = models.DecimalField(max_digits=14, decimal_places=3, null=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        triggers: ClassVar = [AppendOnly()]

    def __str__(self) -> str:
        return f"{self.account} {self.currency}"


class BankLine(models.Model):
    """A line of a bank statement: positive for money in, negative for money out.

    `entry_key` is the same in every file. Open until it is assigned to invoices, as its payments,
    matched to our own transfers, or set aside. Open lines are in the ledger's suspense account.
    """

    class State(models.TextChoices):
        OPEN = "open", "Open"
        ASSIGNED = "assigned", "Assigned"
        MATCHED = "matched", "Matched"
        SET_ASIDE = "set_aside", "Set aside"

    bank_import = models.ForeignKey(BankImport, on_delete=models.PROTECT, related_name="lines")
    position = models.PositiveIntegerField()
    account = models.CharField("IBAN", max_length=34)
    entry_key = models.CharField(max_length=71, unique=True)
    entry_reference = models.CharField(max_length=80)
    booked_on = models.DateField()
    valued_on = models.DateField()
    amount = models.DecimalField(max_digits=14, decimal_places=3)
    currency = models.CharField(max_length=3)
    payer = models.CharField(max_length=160, blank=True)
    payer_account = models.CharField(max_length=40, blank=True)
    text = models.TextField(blank=True)
    end_to_end_id = models.CharField(max_length=35, blank=True)
    batch_id = models.CharField(max_length=35, blank=True)
    is_reversal = models.BooleanField(default=False)
    return_reason = models.TextField(blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    note = models.TextField(blank=True)
    handled_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    handled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["bank_import", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["bank_import", "position"], name="bank_line_position_once"
            ),
            models.CheckConstraint(
                condition=~Q(amount=0),
                name="bank_line_amount_is_not_zero",
                violation_error_message="The amount must not be zero.",
            ),
            models.CheckConstraint(
                condition=~Q(state="assigned") | Q(amount__gt=0),
                name="bank_line_assigned_is_a_credit",
                violation_error_message="Only incoming money is assigned to invoices.",
            ),
            models.CheckConstraint(
                condition=Q(state="open", handled_at__isnull=True, handled_by__isnull=True)
                | (
                    Q(handled_at__isnull=False, handled_by__isnull=False)
                    & (Q(state__in=["assigned", "matched"]) | (Q(state="set_aside") & ~Q(note="")))
                ),
                name="bank_line_is_handled_by_somebody",
                violation_error_message="A line that is set aside needs a reason.",
            ),
        ]
        triggers: ClassVar = [
            Protect(name="deletion", operation=pgtrigger.Delete),
            ReadOnly(name="original", exclude=["state", "note", "handled_by", "handled_at"]),
            KEEP_HANDLED_LINE,
        ]

    def __str__(self) -> str:
        direction = "from" if self.is_credit else "to"
        return f"{format_money(abs(self.amount), self.currency)} {direction} {self.payer}"

    @property
    def is_credit(self) -> bool:
        """Whether money came in."""
        return self.amount > 0


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
            CHECK_RECEIPT,
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
            CHECK_CONFIRMATION,
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
