"""Settlements."""

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
from engagements.api.resources import EngagementFilter, Filter, Resource, UpdatedSince
from engagements.people.models import User
from engagements.people.token_models import Scope
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from engagements.settlements.queries import WITH_DISPUTES


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
        """Propose a settlement. It is approved and paid on the site only."""
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
