"""Invoices and payments."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from engagements import access
from engagements.api.fields import Reference, Row, example
from engagements.api.resources import EngagementFilter, Filter, IdFilter, Resource, UpdatedSince
from engagements.billing.models import Invoice, InvoiceLine
from engagements.billing.payment_models import Payment
from engagements.charges.models import Charge


class InvoiceLineSerializer(Row):
    """A line of an invoice."""

    amounts = ("net", "tax")
    milestone = serializers.IntegerField(source="milestone_id", read_only=True, allow_null=True)

    class Meta:
        model = InvoiceLine
        fields = ("position", "title", "milestone", "net", "tax_rate_percent", "tax")

    def currency_of(self, row: InvoiceLine) -> str:
        return row.invoice.currency


@example(
    id=4,
    engagement="TF-2026-0007",
    customer=3,
    kind="invoice",
    state="issued",
    reference="INV-2026-0004",
    currency="EUR",
    net="12000.00",
    tax="2280.00",
    gross="14280.00",
    amount_due="0.00",
    issued_on="2026-10-01",
    due_on="2026-10-15",
    corrects=None,
    charge="",
    reason="",
    purchase_order="",
    lines=[],
)
class InvoiceSerializer(Row):
    """An invoice or credit note. `amount_due` counts credits, payments and settlements.

    `charge` is the kind of the charge that it bills beside the fee; empty otherwise.
    """

    amounts = ("net", "tax", "gross", "amount_due")
    engagement = Reference()
    customer = serializers.IntegerField(source="customer_id", read_only=True)
    amount_due = serializers.DecimalField(
        source="balance.amount_due", max_digits=14, decimal_places=3, read_only=True
    )
    corrects = serializers.IntegerField(source="corrects_id", read_only=True, allow_null=True)
    charge = serializers.SerializerMethodField()
    lines = InvoiceLineSerializer(many=True, read_only=True)

    class Meta:
        model = Invoice
        fields = (
            "id",
            "engagement",
            "customer",
            "kind",
            "state",
            "reference",
            "currency",
            "net",
            "tax",
            "gross",
            "amount_due",
            "issued_on",
            "due_on",
            "corrects",
            "charge",
            "reason",
            "purchase_order",
            "lines",
        )

    @extend_schema_field(serializers.ChoiceField(choices=["", *Charge.Kind.values]))
    def get_charge(self, row: Invoice) -> str:
        return row.charge.kind if row.charge else ""


class InvoicesFilter(Filter):
    """By engagement, kind, state and number."""

    engagement = EngagementFilter()
    kind = django_filters.ChoiceFilter(choices=Invoice.Kind.choices)
    state = django_filters.ChoiceFilter(choices=Invoice.State.choices)
    reference = django_filters.CharFilter()
    updated_since = UpdatedSince("drafted_at", "issued_at")


class Invoices(Resource):
    """Invoices and credit notes. Customers see issued ones."""

    serializer_class = InvoiceSerializer
    filterset_class = InvoicesFilter

    def rows(self) -> QuerySet[Any]:
        rows = access.rows_for(self.request.user, "Invoice")
        return rows.select_related("engagement", "balance", "charge").prefetch_related(
            "lines__invoice"
        )


@example(
    id=6,
    engagement="TF-2026-0007",
    invoice=4,
    kind="received",
    amount="14280.00",
    currency="EUR",
    received_on="2026-10-09",
    reference="INV-2026-0004",
    is_confirmed=True,
    recorded_at="2026-10-09T11:00:00Z",
)
class PaymentSerializer(Row):
    """A payment on an invoice, gross; negative where the amount left it."""

    amounts = ("amount",)
    engagement = Reference("invoice.engagement.reference")
    invoice = serializers.IntegerField(source="invoice_id", read_only=True)
    currency = serializers.CharField(source="invoice.currency", read_only=True)
    is_confirmed = serializers.BooleanField(read_only=True)

    class Meta:
        model = Payment
        fields = (
            "id",
            "engagement",
            "invoice",
            "kind",
            "amount",
            "currency",
            "received_on",
            "reference",
            "is_confirmed",
            "recorded_at",
        )

    def currency_of(self, row: Payment) -> str:
        return row.invoice.currency


class PaymentsFilter(Filter):
    """By engagement, invoice and kind."""

    engagement = EngagementFilter("invoice__engagement")
    invoice = IdFilter("invoice_id")
    kind = django_filters.MultipleChoiceFilter(choices=Payment.Kind.choices)
    updated_since = UpdatedSince("recorded_at", engagement="invoice__engagement")


class Payments(Resource):
    """Payments on issued invoices."""

    serializer_class = PaymentSerializer
    filterset_class = PaymentsFilter

    def rows(self) -> QuerySet[Any]:
        rows = access.rows_for(self.request.user, "Payment")
        return rows.select_related("invoice__engagement", "confirmation")
