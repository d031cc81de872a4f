"""Audits with their findings, and evidence."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from engagements import access
from engagements.api.fields import DIGEST, Reference, Row, example
from engagements.api.idempotency import idempotent
from engagements.api.resources import EngagementFilter, Filter, Resource, UpdatedSince
from engagements.audit.models import Audit, Finding
from engagements.common.errors import ApplicationError
from engagements.evidence import candidates
from engagements.evidence import services as evidence
from engagements.evidence.models import Evidence
from engagements.people.models import User
from engagements.people.token_models import Scope


class FindingSerializer(Row):
    """The outcome of one check. An unknown does not count as a pass.

    `outcome` counts overrides, `found` is the outcome without them.
    """

    check = serializers.CharField(source="check_name", read_only=True)
    outcome = serializers.CharField(source="effective_outcome", read_only=True)
    found = serializers.CharField(source="outcome", read_only=True)
    is_overridden = serializers.BooleanField(read_only=True)

    class Meta:
        model = Finding
        fields = ("check", "outcome", "found", "value", "rationale", "is_overridden")


@example(
    id=5,
    engagement="TF-2026-0007",
    cost="6000.00",
    currency="EUR",
    outcome="custom",
    started_at="2026-09-02T08:00:00Z",
    delivered_at="2026-09-12T16:00:00Z",
    findings=[
        {
            "check": "hot",
            "outcome": "pass",
            "found": "pass",
            "value": "38%",
            "rationale": "As measured.",
            "is_overridden": False,
        }
    ],
)
class AuditSerializer(Row):
    """An audit: its cost, net, and the findings of its checks."""

    amounts = ("cost",)
    engagement = Reference()
    findings = FindingSerializer(many=True, read_only=True)

    class Meta:
        model = Audit
        fields = (
            "id",
            "engagement",
            "cost",
            "currency",
            "outcome",
            "started_at",
            "delivered_at",
            "findings",
        )


class AuditsFilter(Filter):
    """By engagement and outcome."""

    engagement = EngagementFilter()
    outcome = django_filters.MultipleChoiceFilter(choices=Audit.Outcome.choices)
    updated_since = UpdatedSince("started_at", "delivered_at")


class Audits(Resource):
    """Audits. Customers see them once they are delivered."""

    serializer_class = AuditSerializer
    filterset_class = AuditsFilter

    def rows(self) -> QuerySet[Any]:
        rows = access.rows_for(self.request.user, "Audit")
        return rows.select_related("engagement").prefetch_related("findings")


EVIDENCE = {
    "id": 12,
    "engagement": "TF-2026-0007",
    "name": "trace.json.gz",
    "digest": DIGEST,
    "size_bytes": 18230044,
    "added_by_name": "Carla Consultant",
    "added_at": "2026-09-03T10:00:00Z",
    "state": "read",
    "read_share": 1.0,
    "format": "chrome_trace",
    "candidate": None,
    "failure_reason": "",
}


@example(**EVIDENCE)
class EvidenceSerializer(Row):
    """A file of evidence with its reading progress, from 0 to 1.

    `candidate` is the digest of the source that it profiles, null for the customer's workload.
    """

    engagement = Reference()
    candidate = serializers.CharField(source="candidate.digest", allow_null=True, default=None)

    class Meta:
        model = Evidence
        fields: tuple[str, ...] = (
            "id",
            "engagement",
            "name",
            "digest",
            "size_bytes",
            "added_by_name",
            "added_at",
            "state",
            "read_share",
            "format",
            "candidate",
            "failure_reason",
        )


@example(**EVIDENCE, summary={"distinct_shapes": 12})
class OneEvidenceSerializer(EvidenceSerializer):
    """A file with the `summary` of its content; null until it is read."""

    class Meta(EvidenceSerializer.Meta):
        fields = (*EvidenceSerializer.Meta.fields, "summary")


class NewEvidenceSerializer(serializers.Serializer[Any]):
    """One file for an engagement, as multipart/form-data.

    `candidate` is the digest of the source of a run, for a profile of it.
    """

    engagement = serializers.CharField()
    file = serializers.FileField(allow_empty_file=True)
    candidate = serializers.CharField(required=False)


class EvidenceFilter(Filter):
    """By engagement and state."""

    engagement = EngagementFilter()
    state = django_filters.MultipleChoiceFilter(choices=Evidence.State.choices)
    updated_since = UpdatedSince("added_at", "concluded_at", engagement=None)


class AllEvidence(Resource):
    """Evidence, for staff. Consultants add files, which a worker reads afterwards."""

    scope = Scope.EVIDENCE
    serializer_class = EvidenceSerializer
    filterset_class = EvidenceFilter
    parser_classes = (MultiPartParser,)

    def rows(self) -> QuerySet[Any]:
        rows = access.rows_for(self.request.user, "Evidence")
        return rows.select_related("engagement", "candidate")

    def get_serializer_class(self) -> type[EvidenceSerializer]:
        return OneEvidenceSerializer if self.action == "retrieve" else EvidenceSerializer

    @extend_schema(request=NewEvidenceSerializer, responses={201: EvidenceSerializer})
    @idempotent
    def create(self, request: Request) -> Response:
        """Store a file. The same file twice is one row."""
        access.admit_consultant(request.user)
        upload, *others = request.FILES.getlist("file") or [None]
        if upload is None or others:
            raise ApplicationError("Send one file as “file”.", code="evidence.one_file")
        given = NewEvidenceSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        engagement = access.engagement_for(request.user, given.validated_data["engagement"])
        assert isinstance(request.user, User)
        digest = given.validated_data.get("candidate")
        row = evidence.add(
            engagement=engagement,
            name=upload.name or "",
            content=upload,
            by=request.user,
            candidate=candidates.by_digest(engagement, digest) if digest else None,
        )
        return Response(self.get_serializer(row).data, status=status.HTTP_201_CREATED)
