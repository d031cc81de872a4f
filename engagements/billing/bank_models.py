"""Bank statements: files, balances and lines."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import CHANGES, AppendOnly, Protect, ReadOnly
from engagements.billing.payment_triggers import (
    JOINS_OPEN_FILE,
    KEEP_HANDLED_LINE,
)
from engagements.common.money import format_money
from engagements.people.models import User
from engagements.people.triggers import by_finance, second_person


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
            by_finance("bankimport", "imported_by_id"),
        ]

    def __str__(self) -> str:
        return self.filename

    @property
    def subject(self) -> str:
        """Its name in approvals of a sole owner."""
        return f"bank_import:{self.pk}"

    @property
    def awaits_confirmation(self) -> bool:
        """Whether it is a CSV, which can be edited, and still needs its second person."""
        return self.format == self.Format.CSV and not hasattr(self, "confirmation")


class BankImportConfirmation(models.Model):
    """A second person's statement that the lines of a CSV are those of the bank. Append-only.

    Until then no line of the file is a payment, confirms one, or shows a refund.
    """

    bank_import = models.OneToOneField(
        BankImport, on_delete=models.PROTECT, related_name="confirmation"
    )
    confirmed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    confirmed_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        triggers: ClassVar = [
            AppendOnly(),
            by_finance("bankimportconfirmation", "confirmed_by_id"),
            second_person(
                name="second_person",
                code="bankimportconfirmation.second_person",
                by="NEW.confirmed_by_id",
                others=(
                    "(SELECT imported_by_id FROM engagements_bankimport"
                    " WHERE id = NEW.bank_import_id)",
                ),
                subject="'bank_import:' || NEW.bank_import_id",
                operation=pgtrigger.Insert,
            ),
        ]

    def __str__(self) -> str:
        return f"confirmation of {self.bank_import_id}"


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


# Lines that count as the bank's word: not those of a CSV that awaits its second person.
CONFIRMED_LINE = ~Q(bank_import__format=BankImport.Format.CSV) | Q(
    bank_import__confirmation__isnull=False
)


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
            JOINS_OPEN_FILE,
            by_finance("bankline", "handled_by_id"),
        ]

    def __str__(self) -> str:
        direction = "from" if self.is_credit else "to"
        return f"{format_money(abs(self.amount), self.currency)} {direction} {self.payer}"

    @property
    def is_credit(self) -> bool:
        """Whether it is an incoming payment."""
        return self.amount > 0
