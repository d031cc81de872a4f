"""Payments received, and the bank files in which they arrive."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils import timezone

from benchmarks.triggers import CHANGES, AppendOnly, Protect, ReadOnly
from engagements.billing.models import Invoice
from engagements.billing.payment_triggers import (
    CHECK_MOVE,
    CHECK_OVERPAYMENT,
    CHECK_RECEIPT,
    CHECK_RETURN,
    limit_refunds,
)
from engagements.common.money import format_money
from engagements.people.models import User


class BankImport(models.Model):
    """A bank file as it was handed in. The same bytes are taken in once.

    `layout` says which column of a CSV means what; it is remembered by the `heading` (the
    digest of the first row), so that the bank's next file needs no asking.
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
                violation_error_message="This file is imported already.",
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


class BankLine(models.Model):
    """Money that a bank file says came in. `entry_key` is what the same entry has in any file.

    Open until it is assigned to invoices (then its payments say where it went) or set aside.
    """

    class State(models.TextChoices):
        OPEN = "open", "Open"
        ASSIGNED = "assigned", "Assigned"
        SET_ASIDE = "set_aside", "Set aside"

    bank_import = models.ForeignKey(BankImport, on_delete=models.PROTECT, related_name="lines")
    position = models.PositiveIntegerField()
    entry_key = models.CharField(max_length=71, unique=True)
    entry_reference = models.CharField(max_length=80)
    booked_on = models.DateField()
    amount = models.DecimalField(max_digits=14, decimal_places=3)
    currency = models.CharField(max_length=3)
    payer = models.CharField(max_length=160, blank=True)
    payer_account = models.CharField(max_length=40, blank=True)
    text = models.TextField(blank=True)
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
                condition=Q(amount__gt=0),
                name="bank_line_amount_is_positive",
                violation_error_message="Money that came in is more than nothing.",
            ),
            models.CheckConstraint(
                condition=Q(state="open", handled_at__isnull=True, handled_by__isnull=True)
                | (
                    Q(handled_at__isnull=False, handled_by__isnull=False)
                    & (Q(state="assigned") | (Q(state="set_aside") & ~Q(note="")))
                ),
                name="bank_line_is_handled_by_somebody",
                violation_error_message="Whoever sets money aside says why.",
            ),
        ]
        triggers: ClassVar = [
            Protect(name="deletion", operation=pgtrigger.Delete),
            ReadOnly(name="original", exclude=["state", "note", "handled_by", "handled_at"]),
            Protect(
                name="assigned",
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(old__state="assigned"),
            ),
        ]

    def __str__(self) -> str:
        return f"{format_money(self.amount, self.currency)} from {self.payer}"


class Payment(models.Model):
    """Money that arrived for an issued invoice: gross, in its currency. Append-only.

    What came in beyond what the invoice asks leaves it again as a payment below nothing: `moved`
    to another invoice, where a payment of the same amount names the one it was `moved_from`, or
    `paid_back`; where the bank does not make that transfer, it `came_back`, and is `moved_from`
    what had left. So the payments of an invoice add up to what it has.
    """

    class Kind(models.TextChoices):
        RECEIVED = "received", "Received"
        MOVED = "moved", "Moved"
        PAID_BACK = "paid_back", "Paid back"
        CAME_BACK = "came_back", "Came back"

    invoice = models.ForeignKey(Invoice, on_delete=models.PROTECT, related_name="payments")
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.RECEIVED)
    amount = models.DecimalField(max_digits=14, decimal_places=3)
    received_on = models.DateField(help_text="Or the day on which it left the invoice.")
    reference = models.CharField(max_length=80, help_text="As on the bank statement.")
    bank_line = models.ForeignKey(
        BankLine, on_delete=models.PROTECT, null=True, blank=True, related_name="payments"
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
                violation_error_message="A payment with this reference is recorded already.",
            ),
            models.CheckConstraint(
                condition=~Q(kind="received") | Q(amount__gt=0),
                name="payment_amount_is_positive",
                violation_error_message="A payment is more than nothing.",
            ),
            models.CheckConstraint(
                condition=Q(kind="received", moved_from__isnull=True)
                | Q(kind="moved", moved_from__isnull=True, amount__lt=0)
                | Q(kind="moved", moved_from__isnull=False, amount__gt=0)
                | Q(kind="paid_back", moved_from__isnull=True, amount__lt=0)
                | Q(kind="came_back", moved_from__isnull=False, amount__gt=0),
                name="payment_leaves_or_arrives",
                violation_error_message="What leaves an invoice is below nothing, what arrives "
                "says where it came from.",
            ),
            models.CheckConstraint(
                condition=Q(kind="received") | Q(bank_line__isnull=True),
                name="payment_of_the_bank_is_received",
                violation_error_message="What a bank file says came in was received.",
            ),
        ]
        triggers: ClassVar = [
            AppendOnly(),
            CHECK_RECEIPT,
            CHECK_OVERPAYMENT,
            CHECK_MOVE,
            CHECK_RETURN,
            limit_refunds(
                engagement="engagements_invoice WHERE id = NEW.invoice_id",
                operation=pgtrigger.Insert,
                condition=pgtrigger.Q(new__amount__lt=0),
            ),
        ]

    def __str__(self) -> str:
        return f"{format_money(self.amount, self.invoice.currency)} on {self.received_on}"

    @property
    def told(self) -> str:
        """What happened with it, in words: reads the other invoice of what was moved."""
        if self.kind in (self.Kind.PAID_BACK, self.Kind.CAME_BACK):
            return self.get_kind_display().lower()
        if self.kind == self.Kind.RECEIVED:
            return "received"
        if self.moved_from is not None:
            return f"moved from {self.moved_from.invoice.reference}"
        return f"moved to {self.moved_to.invoice.reference}"
