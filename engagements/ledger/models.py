"""The ledger: accounts, entries and their legs, and totals by month."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import AppendOnly, WrittenByTriggers
from engagements.common.money import format_money
from engagements.documents.models import Document
from engagements.engagement.models import Engagement
from engagements.ledger.triggers import (
    BALANCE,
    CHECK_MONTH,
    KEEP_USED_ACCOUNT,
    TOTAL_LEGS,
)


class Account(models.Model):
    """An account of the chart. Finance may edit its name and DATEV number.

    Postings use `code`; `datev_number` is its number in the tax adviser's chart.
    """

    class Kind(models.TextChoices):
        ASSET = "asset", "Asset"
        LIABILITY = "liability", "Liability"
        REVENUE = "revenue", "Revenue"
        EXPENSE = "expense", "Expense"

    code = models.SlugField(max_length=32, unique=True)
    name = models.CharField(max_length=80)
    kind = models.CharField(max_length=10, choices=Kind)
    position = models.PositiveSmallIntegerField(unique=True)
    datev_number = models.CharField("DATEV number", max_length=8)

    class Meta:
        ordering: ClassVar = ["position"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(datev_number__regex=r"^(?!0+$)[0-9]{4,8}$"),
                name="account_datev_number_has_4_to_8_digits",
                violation_error_message="A DATEV account number has 4 to 8 digits.",
            ),
        ]
        triggers: ClassVar = [
            KEEP_USED_ACCOUNT,
        ]

    def __str__(self) -> str:
        return self.name


class Entry(models.Model):
    """One business fact in the ledger, dated on its own day. Append-only.

    Lines of a bank statement have no engagement before they are assigned.
    `key` identifies the fact, so that it is posted once. `is_charge`: it is about the invoice of a
    charge, which the positions of the fee leave out. At commit a trigger checks that the
    entry has `leg_count` legs that add up to zero.
    """

    class Kind(models.TextChoices):
        INVOICE_ISSUED = "invoice_issued", "Invoice issued"
        CREDIT_NOTE_ISSUED = "credit_note_issued", "Credit note issued"
        PAYMENT_RECEIVED = "payment_received", "Payment received"
        PAYMENT_MOVED = "payment_moved", "Overpayment moved"
        PAYMENT_PAID_BACK = "payment_paid_back", "Overpayment refund sent"
        PAYMENT_REVERSED = "payment_reversed", "Payment reversed"
        PAYMENT_CAME_BACK = "payment_came_back", "Overpayment refund returned"
        OVERPAYMENT_REFUND_PAID = "overpayment_refund_paid", "Overpayment refund paid"
        AUDIT_DELIVERED = "audit_delivered", "Audit delivered"
        AUDIT_AGREED = "audit_agreed", "Audit cost agreed"
        AUDIT_WAIVED = "audit_waived", "Audit waived"
        TARGET_MET = "target_met", "Target met"
        TARGET_UNMET = "target_unmet", "Met target not confirmed"
        TERMINATED = "terminated", "Contract terminated"
        SETTLEMENT_PROPOSED = "settlement_proposed", "Settlement proposed"
        SETTLEMENT_APPROVED = "settlement_approved", "Settlement approved"
        SETTLEMENT_PAYING = "settlement_paying", "Refund sent"
        SETTLEMENT_FAILED = "settlement_failed", "Refund returned"
        SETTLEMENT_PAID = "settlement_paid", "Refund paid"
        SETTLEMENT_VOIDED = "settlement_voided", "Settlement voided"
        BANK_LINE = "bank_line", "Bank line"
        BANK_LINE_CLEARED = "bank_line_cleared", "Bank line set aside"
        BANK_LINE_REOPENED = "bank_line_reopened", "Bank line taken up again"
        WRITTEN_OFF = "written_off", "Written off"
        WRITE_OFF_REVERSED = "write_off_reversed", "Write-off reversed"
        EXCHANGED = "exchanged", "Bank line in another currency"
        RETURN_CHARGED = "return_charged", "Bank charges of a returned refund"
        REFUND_RETURNED = "refund_returned", "Refund returned after payment"

    engagement = models.ForeignKey(
        Engagement, on_delete=models.PROTECT, null=True, blank=True, related_name="entries"
    )
    kind = models.CharField(max_length=24, choices=Kind)
    dated_on = models.DateField()
    key = models.CharField(max_length=80, unique=True)
    document = models.ForeignKey(
        Document, on_delete=models.PROTECT, null=True, blank=True, related_name="entries"
    )
    leg_count = models.PositiveSmallIntegerField()
    is_charge = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["-dated_on", "-pk"]
        verbose_name_plural = "entries"
        indexes: ClassVar = [
            models.Index(fields=["dated_on", "id"], name="entry_by_day"),
            models.Index(fields=["engagement", "dated_on", "id"], name="entry_of_engagement"),
            models.Index(
                fields=["engagement"], condition=Q(is_charge=True), name="entry_of_charge"
            ),
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(leg_count__gte=2),
                name="entry_has_two_legs",
                violation_error_message="An entry has two legs or more.",
            ),
        ]
        triggers: ClassVar = [
            AppendOnly(),
            CHECK_MONTH,
            BALANCE,
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} on {self.dated_on}"


class Leg(models.Model):
    """One side of an entry: `amount` in `currency`, debit positive, credit negative. Append-only.

    Engagement and date are copied from the entry, so that one index reads an account in order;
    a trigger keeps them equal.
    """

    entry = models.ForeignKey(Entry, on_delete=models.PROTECT, related_name="legs", db_index=False)
    account = models.ForeignKey(
        Account, on_delete=models.PROTECT, related_name="legs", db_index=False
    )
    engagement = models.ForeignKey(
        Engagement, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    dated_on = models.DateField()
    amount = models.DecimalField(max_digits=14, decimal_places=3)
    currency = models.CharField(max_length=3)

    class Meta:
        ordering: ClassVar = ["pk"]
        indexes: ClassVar = [
            models.Index(fields=["entry"], name="leg_of_entry"),
            models.Index(fields=["account", "currency", "dated_on", "id"], name="leg_of_account"),
            models.Index(
                fields=["engagement", "account", "dated_on", "id"], name="leg_of_engagement"
            ),
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=~Q(amount=0),
                name="leg_is_not_nothing",
                violation_error_message="The amount of a leg cannot be zero.",
            ),
        ]
        triggers: ClassVar = [
            AppendOnly(),
            TOTAL_LEGS,
        ]

    def __str__(self) -> str:
        return format_money(self.amount, self.currency)


class MonthTotal(models.Model):
    """The total of an engagement's legs on an account in one month, maintained by a trigger.

    By engagement, whose lock a posting holds, so that concurrent postings do not wait for one row
    per account.
    """

    engagement = models.ForeignKey(
        Engagement, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="+", db_index=False)
    currency = models.CharField(max_length=3)
    month = models.DateField(help_text="The first day of the month.")
    debit = models.DecimalField(max_digits=20, decimal_places=3)
    credit = models.DecimalField(max_digits=20, decimal_places=3)
    leg_count = models.PositiveIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["engagement", "account", "currency", "month"],
                name="month_total_once",
                nulls_distinct=False,
            ),
        ]
        indexes: ClassVar = [
            # Covers the trial balance: an index-only scan.
            models.Index(
                fields=["month", "account", "currency"],
                include=["debit", "credit", "leg_count"],
                name="month_total_by_account",
            ),
            models.Index(
                fields=["account", "currency", "engagement"], name="month_total_of_account"
            ),
        ]
        triggers: ClassVar = [
            WrittenByTriggers(),
        ]

    def __str__(self) -> str:
        return f"{self.month}: {self.debit} and {self.credit} {self.currency}"
