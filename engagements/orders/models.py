"""The audit order: the price and terms of an audit, sealed and accepted by the customer."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from benchmarks.triggers import FSM, Protect, ReadOnly
from engagements.common.money import format_money, gross_of
from engagements.contracts.models import MAX_PAYMENT_DAYS, ContractVersion
from engagements.engagement.models import Engagement
from engagements.orders.triggers import CHECK_ACCEPTED
from engagements.people.models import User


class AuditOrder(models.Model):
    """An order of the audit at `price` (net, in `currency`), sealed as canonical JSON.

    A signatory of the customer accepts exactly its `digest`. An audit that ends redirected or
    declined is billed by its accepted order; where a contract follows, the contract's fee
    includes the audit and the order is not billed.
    """

    class State(models.TextChoices):
        OFFERED = "offered", "Offered"
        ACCEPTED = "accepted", "Accepted"
        DECLINED = "declined", "Declined"
        WITHDRAWN = "withdrawn", "Withdrawn"

    engagement = models.ForeignKey(
        Engagement, on_delete=models.PROTECT, related_name="audit_orders"
    )
    number = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.OFFERED)
    price = models.DecimalField(max_digits=14, decimal_places=3)
    currency = models.CharField(max_length=3)
    tax_rate_percent = models.DecimalField(max_digits=5, decimal_places=2, default=0)
    tax_treatment = models.CharField(max_length=14, choices=ContractVersion.TaxTreatment)
    tax_note = models.TextField(blank=True, help_text="The sentence for invoices without tax.")
    payment_days = models.PositiveSmallIntegerField(default=14)
    valid_until = models.DateField(help_text="The last day on which it may be accepted.")
    canonical = models.BinaryField()
    digest = models.CharField(max_length=71, db_index=True)
    offered_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    offered_at = models.DateTimeField(default=timezone.now, editable=False)
    accepted_by = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_digest = models.CharField(max_length=71, blank=True)
    typed_name = models.CharField(max_length=120, blank=True)
    address = models.GenericIPAddressField("IP address", null=True, blank=True)
    signed_in_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-number"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["engagement", "number"], name="audit_order_number_once"
            ),
            models.UniqueConstraint(
                fields=["engagement"],
                condition=Q(state__in=["offered", "accepted"]),
                name="audit_order_one_open",
                violation_error_message="An audit order is on offer or accepted already.",
            ),
            models.CheckConstraint(
                condition=Q(price__gt=0, payment_days__lte=MAX_PAYMENT_DAYS),
                name="audit_order_has_a_price",
                violation_error_message=(
                    f"Enter a price above 0, payable within {MAX_PAYMENT_DAYS} days."
                ),
            ),
            models.CheckConstraint(
                condition=Q(tax_treatment="rate", tax_note="", tax_rate_percent__gt=0)
                | (~Q(tax_treatment="rate") & Q(tax_rate_percent=0) & ~Q(tax_note="")),
                name="audit_order_tax_is_treated_one_way",
                violation_error_message="Enter a tax rate above 0, or why no tax is charged.",
            ),
            models.CheckConstraint(
                condition=Q(digest__regex=r"^sha256:[0-9a-f]{64}$"),
                name="audit_order_is_sealed",
            ),
            models.CheckConstraint(
                condition=Q(
                    state="accepted",
                    accepted_by__isnull=False,
                    accepted_at__isnull=False,
                    accepted_digest=F("digest"),
                )
                & ~Q(typed_name="")
                | (
                    ~Q(state="accepted")
                    & Q(accepted_by__isnull=True, accepted_at__isnull=True, accepted_digest="")
                ),
                name="audit_order_is_accepted_by_its_digest",
                violation_error_message="An order is accepted by its digest.",
            ),
        ]
        triggers: ClassVar = [
            Protect(name="deletion", operation=pgtrigger.Delete),
            Protect(
                name="start",
                operation=pgtrigger.Insert,
                condition=~pgtrigger.Q(new__state="offered"),
            ),
            FSM("state", {"offered": {"accepted", "declined", "withdrawn"}}),
            ReadOnly(
                name="sealed",
                exclude=[
                    *("state", "accepted_by", "accepted_at", "accepted_digest"),
                    *("typed_name", "address", "signed_in_at"),
                ],
            ),
            Protect(
                name="ended",
                operation=pgtrigger.Update,
                condition=~pgtrigger.Q(old__state="offered"),
            ),
            CHECK_ACCEPTED,
        ]

    def __str__(self) -> str:
        return self.reference

    @property
    def reference(self) -> str:
        """Its name in documents and invoices, as in TF-0001 audit order 1."""
        return f"{self.engagement.reference} audit order {self.number}"

    @property
    def gross(self) -> Decimal:
        return gross_of(self.price, self.tax_rate_percent, self.currency)

    @property
    def is_open(self) -> bool:
        """Whether it may still be accepted."""
        return self.state == self.State.OFFERED and timezone.localdate() <= self.valid_until

    @property
    def price_text(self) -> str:
        return format_money(self.price, self.currency)
