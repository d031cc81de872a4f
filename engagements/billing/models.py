"""Invoices and credit notes, their lines, and the counters that number them."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from benchmarks.triggers import CHANGES, Protect, ReadOnly
from engagements.billing.triggers import (
    CHECK_CREDIT,
    CHECK_ISSUE,
    CHECK_LINE,
    ISSUED_BY_ANOTHER,
    USE_NUMBERS,
)
from engagements.charges.models import Charge
from engagements.common.money import format_money
from engagements.contracts.milestones.models import Milestone, ReleaseCondition
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Engagement
from engagements.orders.models import AuditOrder
from engagements.people.models import Customer, User
from engagements.people.triggers import by_finance


class Counter(models.Model):
    """The last number used in a series and year.

    The row stays locked until the transaction ends, so that numbers have no gaps; a trigger
    enforces it.
    """

    series = models.CharField(max_length=12)
    year = models.PositiveSmallIntegerField()
    last = models.PositiveIntegerField(default=0)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["series", "year"], name="counter_once_a_series_and_year"
            )
        ]
        triggers: ClassVar = [
            Protect(name="deletion", operation=pgtrigger.Delete),
            Protect(
                name="start",
                operation=pgtrigger.Insert,
                condition=~pgtrigger.Q(new__last=0),
            ),
            ReadOnly(name="identity", fields=["series", "year"]),
            Protect(
                name="step",
                operation=pgtrigger.Update,
                condition=pgtrigger.Condition("NEW.last <> OLD.last + 1"),
            ),
            USE_NUMBERS,
        ]

    def __str__(self) -> str:
        return f"{self.series} {self.year}: {self.last}"


class Invoice(models.Model):
    """An invoice, or a credit note that corrects one.

    Amounts are in `currency` and positive in both kinds. A draft has no number and may be
    discarded. An issued document is numbered without a gap in its series and year, and a trigger
    makes it immutable. `frozen` holds its parties, terms, tax and locale: see `invoice_facts`.

    A credit note that a decision makes has neither `drafted_by` nor `issued_by`.
    """

    class Kind(models.TextChoices):
        INVOICE = "invoice", "Invoice"
        CREDIT_NOTE = "credit_note", "Credit note"

    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        ISSUED = "issued", "Issued"

    kind = models.CharField(max_length=12, choices=Kind, default=Kind.INVOICE)
    state = models.CharField(max_length=8, choices=State, default=State.DRAFT)
    engagement = models.ForeignKey(Engagement, on_delete=models.PROTECT, related_name="invoices")
    contract_version = models.ForeignKey(
        ContractVersion, on_delete=models.PROTECT, null=True, blank=True, related_name="invoices"
    )
    audit_order = models.ForeignKey(
        AuditOrder, on_delete=models.PROTECT, null=True, blank=True, related_name="invoices"
    )
    charge = models.ForeignKey(
        Charge, on_delete=models.PROTECT, null=True, blank=True, related_name="invoices"
    )
    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="invoices")
    currency = models.CharField(max_length=3)
    net = models.DecimalField(max_digits=14, decimal_places=3)
    tax = models.DecimalField(max_digits=14, decimal_places=3)
    gross = models.DecimalField(max_digits=14, decimal_places=3)
    series = models.CharField(max_length=12, blank=True)
    year = models.PositiveSmallIntegerField(null=True, blank=True)
    number = models.PositiveIntegerField(null=True, blank=True)
    reference = models.CharField(max_length=60, blank=True, help_text="As in INV-2026-0001.")
    issued_on = models.DateField(null=True, blank=True)
    due_on = models.DateField(null=True, blank=True)
    issued_at = models.DateTimeField(null=True, blank=True)
    issued_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    drafted_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    drafted_at = models.DateTimeField(default=timezone.now, editable=False)
    corrects = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="credit_notes"
    )
    reason = models.TextField(blank=True)
    bill_again = models.BooleanField(
        default=False, help_text="Whether milestones credited in full are billed again."
    )
    purchase_order = models.CharField(
        max_length=60, blank=True, help_text="The customer's order number, printed on the invoice."
    )
    frozen = models.JSONField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-issued_at", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["series", "year", "number"],
                name="invoice_number_once",
                violation_error_message="This number is already used.",
            ),
            models.UniqueConstraint(
                fields=["reference"],
                condition=~Q(reference=""),
                name="invoice_reference_once",
                violation_error_message="This number is already used.",
            ),
            models.CheckConstraint(
                condition=Q(net__gt=0, tax__gte=0, gross=F("net") + F("tax")),
                name="invoice_adds_up",
                violation_error_message="The net must be positive, and net plus tax the gross.",
            ),
            models.CheckConstraint(
                condition=Q(
                    state="draft",
                    series="",
                    reference="",
                    year__isnull=True,
                    number__isnull=True,
                    issued_on__isnull=True,
                    due_on__isnull=True,
                    issued_at__isnull=True,
                    issued_by__isnull=True,
                    frozen__isnull=True,
                )
                | (
                    Q(
                        state="issued",
                        year__isnull=False,
                        number__gt=0,
                        issued_on__year=F("year"),
                        issued_at__isnull=False,
                        frozen__isnull=False,
                    )
                    & ~Q(series="")
                    & ~Q(reference="")
                ),
                name="invoice_is_numbered_when_it_is_issued",
                violation_error_message="Issued invoices have a number and a date, drafts neither.",
            ),
            models.CheckConstraint(
                condition=Q(contract_version__isnull=False, audit_order__isnull=True)
                | Q(contract_version__isnull=True, audit_order__isnull=False),
                name="invoice_bills_a_contract_or_an_order",
                violation_error_message="An invoice bills a contract or an audit order.",
            ),
            models.CheckConstraint(
                condition=Q(charge__isnull=True) | Q(contract_version__isnull=False),
                name="invoice_of_a_charge_names_its_contract",
                violation_error_message="A charge is billed by its contract.",
            ),
            models.CheckConstraint(
                condition=Q(kind="invoice", corrects__isnull=True, reason="")
                | (Q(kind="credit_note", corrects__isnull=False) & ~Q(reason="")),
                name="credit_note_corrects_an_invoice",
                violation_error_message="A credit note needs the corrected invoice and a reason.",
            ),
            models.CheckConstraint(
                condition=Q(state="draft")
                | Q(kind="credit_note", due_on__isnull=True)
                | Q(kind="invoice", due_on__gte=F("issued_on")),
                name="invoice_is_due_after_it_is_issued",
                violation_error_message="The due date cannot be before the invoice date.",
            ),
        ]
        triggers: ClassVar = [
            Protect(
                name="draft",
                operation=pgtrigger.Insert,
                condition=~pgtrigger.Q(new__state="draft"),
            ),
            Protect(
                name="issued",
                operation=CHANGES,
                condition=pgtrigger.Q(old__state="issued"),
            ),
            ReadOnly(name="identity", fields=["kind", "corrects", "drafted_by", "bill_again"]),
            by_finance("invoice", "issued_by_id", "drafted_by_id"),
            CHECK_ISSUE,
            CHECK_CREDIT,
            ISSUED_BY_ANOTHER,
        ]

    def __str__(self) -> str:
        return self.reference or f"draft {self.pk}"

    @property
    def is_issued(self) -> bool:
        return self.state == self.State.ISSUED

    @property
    def is_credit_note(self) -> bool:
        return self.kind == self.Kind.CREDIT_NOTE

    @property
    def subject(self) -> str:
        """The name of a credit note in approvals of a sole owner."""
        return f"{self.kind}:{self.pk}"

    @property
    def terms(self) -> ContractVersion | AuditOrder:
        """The contract or the audit order that it bills: tax, currency and days to pay."""
        terms = self.contract_version or self.audit_order
        assert terms is not None  # a constraint
        return terms

    @property
    def title(self) -> str:
        """The titles of its lines."""
        return ", ".join(line.title for line in self.lines.all())


class InvoiceLine(models.Model):
    """A milestone on an invoice, or on a credit note the credited part of a line.

    The line of an audit order or of a charge has no milestone.

    `tax` is the line's share of the invoice's tax, so that lines add up to their invoice.
    """

    invoice = models.ForeignKey(Invoice, on_delete=models.CASCADE, related_name="lines")
    position = models.PositiveSmallIntegerField()
    milestone = models.ForeignKey(
        Milestone, on_delete=models.PROTECT, null=True, blank=True, related_name="invoice_lines"
    )
    corrects = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="credit_lines"
    )
    title = models.CharField(max_length=160)
    net = models.DecimalField(max_digits=14, decimal_places=3)
    tax_rate_percent = models.DecimalField(max_digits=5, decimal_places=2)
    tax = models.DecimalField(max_digits=14, decimal_places=3)

    class Meta:
        ordering: ClassVar = ["invoice", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["invoice", "position"], name="invoice_line_position_once"
            ),
            models.UniqueConstraint(
                fields=["invoice", "milestone"],
                name="invoice_line_milestone_once",
                violation_error_message="A milestone can be on an invoice only once.",
            ),
            models.CheckConstraint(
                condition=Q(net__gt=0, tax__gte=0),
                name="invoice_line_is_positive",
                violation_error_message="The amount of a line must be positive.",
            ),
        ]
        triggers: ClassVar = [
            ReadOnly(name="identity", fields=["invoice", "milestone", "corrects"]),
            CHECK_LINE,
        ]

    def __str__(self) -> str:
        return f"{self.title}: {format_money(self.net, self.invoice.currency)}"

    @property
    def condition(self) -> str:
        """The condition of its milestone, of an audit order its delivery, of a charge none."""
        if self.milestone is not None:
            return self.milestone.condition
        return "" if self.invoice.charge_id else ReleaseCondition.AUDIT_DELIVERED


class InvoiceBalance(models.Model):
    """The figures of `engagements.billing.balances.Balance` for each invoice and credit note."""

    invoice = models.OneToOneField(
        Invoice,
        on_delete=models.DO_NOTHING,
        primary_key=True,
        db_constraint=False,
        related_name="balance",
    )
    credited = models.DecimalField(max_digits=14, decimal_places=3)
    received = models.DecimalField(max_digits=14, decimal_places=3)
    written_off = models.DecimalField(max_digits=14, decimal_places=3)
    open_amount = models.DecimalField(max_digits=14, decimal_places=3)
    due_after_settlement = models.DecimalField(max_digits=14, decimal_places=3, null=True)
    amount_due = models.DecimalField(max_digits=14, decimal_places=3)
    offset = models.DecimalField(max_digits=14, decimal_places=3)
    max_payment = models.DecimalField(max_digits=14, decimal_places=3)
    is_held = models.BooleanField()
    is_settled = models.BooleanField()

    class Meta:
        managed = False
        default_permissions: ClassVar = ()

    def __str__(self) -> str:
        return f"{format_money(self.open_amount, self.invoice.currency)} of {self.invoice} open"
