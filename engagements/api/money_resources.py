"""Invoices, payments, settlements and ledger entries."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from engagements import access
from engagements.api.fields import Reference, Row, example
from engagements.api.idempotency import idempotent
from engagements.api.resources import EngagementFilter, Filter, IdFilter, Resource, UpdatedSince
from engagements.billing.models import Invoice, InvoiceLine
from engagements.billing.payment_models import Payment
from engagements.ledger.models import Entry, Leg
from engagements.people.models import User
from engagements.people.token_models import Scope
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from engagements.settlements.queries import WITH_DISPUTES


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
    reason="",
    purchase_order="",
    lines=[],
)
class InvoiceSerializer(Row):
    """An invoice or credit note. `amount_due` counts credits, payments and settlements."""

    amounts = ("net", "tax", "gross", "amount_due")
    engagement = Reference()
    customer = serializers.IntegerField(source="customer_id", read_only=True)
    amount_due = serializers.DecimalField(
        source="balance.amount_due", max_digits=14, decimal_places=3, read_only=True
    )
    corrects = serializers.IntegerField(source="corrects_id", read_only=True, allow_null=True)
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
            "reason",
            "purchase_order",
            "lines",
        )


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
        return rows.select_related("engagement", "balance").prefetch_related("lines__invoice")


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


@example(
    id=2,
    engagement="TF-2026-0007",
    contract=8,
    reason="missed",
    note="",
    state="proposed",
    currency="EUR",
    payments_received="21420.00",
    refunded_before="0.00",
    audit_cost="6000.00",
    audit_tax="1140.00",
    refund="14280.00",
    balance_due="0.00",
    proposed_at="2026-11-12T18:00:00Z",
    approved_at=None,
    paid_at=None,
    payment_reference="",
    is_on_hold=False,
    refund_due_on="2026-11-26",
)
class SettlementSerializer(Row):
    """The refund after a missed target: payments received less the audit cost, with their tax."""

    amounts = (
        "payments_received",
        "refunded_before",
        "audit_cost",
        "audit_tax",
        "refund",
        "balance_due",
    )
    engagement = Reference("contract_version.engagement.reference")
    contract = serializers.IntegerField(source="contract_version_id", read_only=True)
    is_on_hold = serializers.BooleanField(read_only=True)
    refund_due_on = serializers.DateField(read_only=True, allow_null=True)

    class Meta:
        model = Settlement
        fields = (
            "id",
            "engagement",
            "contract",
            "reason",
            "note",
            "state",
            "currency",
            *(
                "payments_received",
                "refunded_before",
                "audit_cost",
                "audit_tax",
                "refund",
                "balance_due",
            ),
            "proposed_at",
            "approved_at",
            "paid_at",
            "payment_reference",
            "is_on_hold",
            "refund_due_on",
        )


@example(contract=8, reason="time_box")
class NewSettlementSerializer(serializers.Serializer[Any]):
    """The contract to settle, and why. Further and agreed settlements need a note."""

    contract = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    reason = serializers.ChoiceField(choices=Settlement.Reason.choices)
    note = serializers.CharField(required=False, allow_blank=True, max_length=2000)
    audit_cost = serializers.DecimalField(
        max_digits=14,
        decimal_places=3,
        min_value=0,
        required=False,
        help_text="The audit cost to keep, net; the contract's by default.",
    )


class SettlementsFilter(Filter):
    """By engagement and state."""

    engagement = EngagementFilter("contract_version__engagement")
    state = django_filters.MultipleChoiceFilter(choices=Settlement.State.choices)
    updated_since = UpdatedSince(
        "proposed_at", "approved_at", "paid_at", engagement="contract_version__engagement"
    )


class Settlements(Resource):
    """Settlements. Staff propose them; customers see them once two people approved them."""

    scope = Scope.SETTLEMENTS
    serializer_class = SettlementSerializer
    filterset_class = SettlementsFilter

    def rows(self) -> QuerySet[Any]:
        rows = access.rows_for(self.request.user, "Settlement")
        rows = rows.select_related("contract_version__engagement")
        return rows.defer("contract_version__canonical").prefetch_related(*WITH_DISPUTES)

    @extend_schema(request=NewSettlementSerializer, responses={201: SettlementSerializer})
    @idempotent
    def create(self, request: Request) -> Response:
        """Propose a settlement. Nobody approves or pays one by the API."""
        access.admit_staff(request.user)
        given = NewSettlementSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        values = given.validated_data
        contracts = access.rows_for(request.user, "ContractVersion")
        contract = contracts.filter(pk=values["contract"]).first()
        if contract is None:
            raise Http404("No such contract.")
        assert isinstance(request.user, User)
        row = settlements.propose(
            contract=contract,
            reason=values["reason"],
            note=values.get("note", ""),
            audit_cost=values.get("audit_cost"),
            by=request.user,
        )
        data = self.get_serializer(self.rows().get(pk=row.pk)).data
        return Response(data, status=status.HTTP_201_CREATED)


class LegSerializer(Row):
    """One side of an entry: debit positive, credit negative."""

    amounts = ("amount",)
    account = serializers.CharField(source="account.code", read_only=True)

    class Meta:
        model = Leg
        fields = ("account", "amount", "currency")


@example(
    id=40,
    engagement="TF-2026-0007",
    kind="invoice_issued",
    dated_on="2026-10-01",
    key="invoice:4",
    document=22,
    created_at="2026-10-01T10:00:00Z",
    legs=[
        {"account": "receivables", "amount": "14280.00", "currency": "EUR"},
        {"account": "refund_liability", "amount": "-12000.00", "currency": "EUR"},
        {"account": "vat", "amount": "-2280.00", "currency": "EUR"},
    ],
)
class EntrySerializer(Row):
    """An entry of the ledger. Its legs add up to zero in each currency."""

    engagement = serializers.CharField(
        source="engagement.reference", read_only=True, allow_null=True, default=None
    )
    document = serializers.IntegerField(source="document_id", read_only=True, allow_null=True)
    legs = LegSerializer(many=True, read_only=True)

    class Meta:
        model = Entry
        fields = ("id", "engagement", "kind", "dated_on", "key", "document", "created_at", "legs")


class EntriesFilter(Filter):
    """By engagement, kind, account and day."""

    engagement = EngagementFilter()
    kind = django_filters.MultipleChoiceFilter(choices=Entry.Kind.choices)
    account = django_filters.CharFilter(field_name="legs__account__code", distinct=True)
    dated_on = django_filters.DateFromToRangeFilter()
    updated_since = UpdatedSince("created_at", engagement=None)


class Entries(Resource):
    """Entries of the ledger, for staff. Append-only."""

    serializer_class = EntrySerializer
    filterset_class = EntriesFilter

    def rows(self) -> QuerySet[Any]:
        rows = access.rows_for(self.request.user, "Entry").select_related("engagement")
        return rows.prefetch_related("legs__account")
