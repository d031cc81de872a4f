"""Contracts and milestones."""

from __future__ import annotations

import json
from typing import Any

import django_filters
from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from engagements import access
from engagements.api.fields import DIGEST, Reference, Row, example
from engagements.api.idempotency import idempotent
from engagements.api.problems import PreconditionRequired
from engagements.api.resources import EngagementFilter, Filter, IdFilter, Resource, UpdatedSince
from engagements.contracts import offers
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.contracts.signing_models import Acceptance
from engagements.people.models import User
from engagements.people.token_models import Scope


class AcceptanceSerializer(Row):
    """One party's signature of the contract's digest."""

    class Meta:
        model = Acceptance
        fields = ("party", "typed_name", "digest", "accepted_at")


CONTRACT = {
    "id": 8,
    "engagement": "TF-2026-0007",
    "number": 1,
    "state": "accepted",
    "benchmark": 2,
    "fee": "48000.00",
    "audit_cost": "6000.00",
    "currency": "EUR",
    "tax_rate_percent": "19.00",
    "weeks": 6,
    "starts_on": "2026-10-01",
    "valid_until": None,
    "target": "2.00",
    "inconclusive": "missed",
    "acceptance_runs": 3,
    "run_notice_days": 0,
    "place": "house",
    "amends": None,
    "digest": DIGEST,
    "created_at": "2026-09-20T09:00:00Z",
    "sealed_at": "2026-09-28T14:00:00Z",
    "acceptances": [],
}


@example(**CONTRACT)
class ContractSerializer(Row):
    """A version of the terms. Amounts are net; `digest` is empty until it is offered."""

    amounts = ("fee", "audit_cost")
    engagement = Reference()
    benchmark = serializers.IntegerField(source="benchmark_id", read_only=True)
    amends = serializers.IntegerField(source="amends_id", read_only=True, allow_null=True)
    acceptances = AcceptanceSerializer(many=True, read_only=True)

    class Meta:
        model = ContractVersion
        fields: tuple[str, ...] = (
            "id",
            "engagement",
            "number",
            "state",
            "benchmark",
            "fee",
            "audit_cost",
            "currency",
            "tax_rate_percent",
            "weeks",
            "starts_on",
            "valid_until",
            "target",
            "inconclusive",
            "acceptance_runs",
            "run_notice_days",
            "place",
            "amends",
            "digest",
            "created_at",
            "sealed_at",
            "acceptances",
        )


@example(**CONTRACT, terms={"schema": "twofold.contract/1"})
class OneContractSerializer(ContractSerializer):
    """A version with its sealed `terms`; null in a draft."""

    terms = serializers.SerializerMethodField()

    class Meta(ContractSerializer.Meta):
        fields = (*ContractSerializer.Meta.fields, "terms")

    @extend_schema_field(serializers.JSONField(allow_null=True))
    def get_terms(self, contract: ContractVersion) -> Any:
        """Return the sealed terms as data."""
        return json.loads(bytes(contract.canonical)) if contract.canonical else None


class ContractsFilter(Filter):
    """By engagement and state."""

    engagement = EngagementFilter()
    state = django_filters.MultipleChoiceFilter(choices=ContractVersion.State.choices)
    updated_since = UpdatedSince("created_at", "sealed_at")


class Contracts(Resource):
    """Versions of contracts. Customers see them once they are offered."""

    scope = Scope.CONTRACTS
    serializer_class = ContractSerializer
    filterset_class = ContractsFilter

    def rows(self) -> QuerySet[Any]:
        rows = access.rows_for(self.request.user, "ContractVersion").select_related("engagement")
        rows = rows.prefetch_related("acceptances")
        return rows.defer("canonical") if self.action == "list" else rows

    def get_serializer_class(self) -> type[ContractSerializer]:
        return ContractSerializer if self.action == "list" else OneContractSerializer

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Return one version. The ETag of a draft is what `If-Match` of its offer takes."""
        contract = self.get_object()
        response = Response(self.get_serializer(contract).data)
        if not contract.is_sealed:
            response["ETag"] = f'"{offers.digest_of_draft(contract)}"'
        return response

    @extend_schema(
        request=None,
        parameters=[
            OpenApiParameter(
                "If-Match",
                OpenApiTypes.STR,
                OpenApiParameter.HEADER,
                required=True,
                description="The ETag of the draft as you read it.",
            )
        ],
        responses={200: OneContractSerializer},
    )
    @action(detail=True, methods=["post"], pagination_class=None, filterset_class=None)
    @idempotent
    def offer(self, request: Request, pk: str) -> Response:
        """Seal a draft and offer it to the customer. 412 if it changed since it was read."""
        access.admit_consultant(request.user)
        contract = self.get_object()
        expected = request.headers.get("If-Match")
        if expected is None:
            raise PreconditionRequired
        assert isinstance(request.user, User)
        row = offers.offer(
            contract=contract, by=request.user, expected_version=expected.strip().strip('"')
        )
        return Response(self.get_serializer(self.rows().get(pk=row.pk)).data)


@example(
    id=17,
    engagement="TF-2026-0007",
    contract=8,
    position=1,
    title="Signature",
    amount="12000.00",
    currency="EUR",
    condition="signed",
    due_on=None,
    state="billed",
    released_at="2026-10-01T09:30:00Z",
    billed_at="2026-10-01T10:00:00Z",
    billing_reference="INV-2026-0004",
)
class MilestoneSerializer(Row):
    """A part of the fee, net, and the condition that releases it."""

    amounts = ("amount",)
    engagement = Reference("contract_version.engagement.reference")
    contract = serializers.IntegerField(source="contract_version_id", read_only=True)
    currency = serializers.CharField(source="contract_version.currency", read_only=True)

    class Meta:
        model = Milestone
        fields = (
            "id",
            "engagement",
            "contract",
            "position",
            "title",
            "amount",
            "currency",
            "condition",
            "due_on",
            "state",
            "released_at",
            "billed_at",
            "billing_reference",
        )

    def currency_of(self, row: Milestone) -> str:
        return row.contract_version.currency


class MilestonesFilter(Filter):
    """By engagement, contract and state."""

    engagement = EngagementFilter("contract_version__engagement")
    contract = IdFilter("contract_version_id")
    state = django_filters.MultipleChoiceFilter(choices=Milestone.State.choices)
    updated_since = UpdatedSince(
        "released_at", "billed_at", engagement="contract_version__engagement"
    )


class Milestones(Resource):
    """Milestones of contracts."""

    scope = Scope.CONTRACTS
    serializer_class = MilestoneSerializer
    filterset_class = MilestonesFilter

    def rows(self) -> QuerySet[Any]:
        rows = access.rows_for(self.request.user, "Milestone")
        return rows.select_related("contract_version__engagement").defer(
            "contract_version__canonical"
        )
