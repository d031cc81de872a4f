"""Customers, engagements and documents."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request

from engagements import access
from engagements.api.fields import DIGEST, Reference, Row, example
from engagements.api.resources import EngagementFilter, Filter, IdFilter, Resource, UpdatedSince
from engagements.contracts.time_box.models import TimeBox
from engagements.documents.models import Document
from engagements.engagement.models import Engagement, Stage
from engagements.people.models import Customer


@example(
    id=3,
    name="Longprompt GmbH",
    address="1 Example Street\n10115 Berlin",
    country="DE",
    vat_id="DE136695976",
    currency="EUR",
    created_at="2026-09-01T08:00:00Z",
)
class CustomerSerializer(Row):
    """A client company."""

    class Meta:
        model = Customer
        fields = ("id", "name", "address", "country", "vat_id", "currency", "created_at")


class Customers(Resource):
    """Customers: all for staff, their own for a customer's people."""

    serializer_class = CustomerSerializer

    def rows(self) -> QuerySet[Any]:
        return access.customers_for(self.request.user)


class TimeBoxSerializer(Row):
    """The first and the last day of the work."""

    class Meta:
        model = TimeBox
        fields = ("starts_on", "ends_on")


@example(
    reference="TF-2026-0007",
    title="Decode attention over one shared prompt",
    workload="A long shared prompt, short questions.",
    customer=3,
    customer_name="Longprompt GmbH",
    lead="Carla Consultant",
    stage="active",
    stage_since="2026-10-01T09:30:00Z",
    opened_at="2026-09-01T08:00:00Z",
    time_box={"starts_on": "2026-10-01", "ends_on": "2026-11-12"},
)
class EngagementSerializer(Row):
    """One piece of work for one customer. `time_box` is null before a contract is in force."""

    customer = serializers.IntegerField(source="customer_id", read_only=True)
    customer_name = serializers.CharField(source="customer.name", read_only=True)
    lead = serializers.CharField(source="lead.name", read_only=True)
    time_box = TimeBoxSerializer(read_only=True, allow_null=True)

    class Meta:
        model = Engagement
        fields = (
            "reference",
            "title",
            "workload",
            "customer",
            "customer_name",
            "lead",
            "stage",
            "stage_since",
            "opened_at",
            "time_box",
        )


class EngagementsFilter(Filter):
    """By stage and customer."""

    stage = django_filters.MultipleChoiceFilter(choices=Stage.choices)
    customer = IdFilter("customer_id")
    updated_since = UpdatedSince("stage_since", engagement="pk")


class Engagements(Resource):
    """Engagements."""

    serializer_class = EngagementSerializer
    filterset_class = EngagementsFilter
    lookup_field = "reference"
    lookup_value_regex = r"[-\w]+"

    def rows(self) -> QuerySet[Any]:
        return access.engagements_for(self.request.user).select_related("time_box")


@example(
    id=21,
    engagement="TF-2026-0007",
    kind="contract",
    title="Contract, version 1",
    filename="TF-2026-0007-contract-1.pdf",
    size_bytes=182344,
    digest=DIGEST,
    issued_at="2026-09-28T14:00:00Z",
)
class DocumentSerializer(Row):
    """An issued document. `digest` is the SHA-256 of its PDF."""

    engagement = Reference()

    class Meta:
        model = Document
        fields = (
            "id",
            "engagement",
            "kind",
            "title",
            "filename",
            "size_bytes",
            "digest",
            "issued_at",
        )


class DocumentsFilter(Filter):
    """By engagement and kind."""

    engagement = EngagementFilter()
    kind = django_filters.MultipleChoiceFilter(choices=Document.Kind.choices)
    updated_since = UpdatedSince("issued_at", engagement=None)


class Documents(Resource):
    """Issued documents. Customers see those that were issued for them."""

    serializer_class = DocumentSerializer
    filterset_class = DocumentsFilter

    def rows(self) -> QuerySet[Any]:
        rows = access.rows_for(self.request.user, "Document").select_related("engagement")
        return rows if self.action == "content" else rows.defer("content")

    @extend_schema(responses={(200, "application/pdf"): OpenApiTypes.BINARY})
    @action(detail=True, pagination_class=None, filterset_class=None)
    def content(self, request: Request, pk: str) -> HttpResponse:
        """Download the PDF."""
        document = self.get_object()
        response = HttpResponse(bytes(document.content), content_type="application/pdf")
        response["Content-Disposition"] = f'attachment; filename="{document.filename}"'
        response["X-Content-Type-Options"] = "nosniff"
        response["ETag"] = f'"{document.digest}"'
        return response
