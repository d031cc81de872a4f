"""Runs and records."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import django_filters
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from benchmarks.models import Benchmark, Record, Run, Solution, Verdict
from benchmarks.records.failure_codes import LABELS, FailureCode
from engagements import access
from engagements.api import live
from engagements.api.fields import DIGEST, Reference, Row, example
from engagements.api.idempotency import idempotent
from engagements.api.resources import EngagementFilter, Filter, Resource, UpdatedSince
from engagements.people.models import User
from engagements.people.token_models import Scope
from engagements.runs import bundles, record_files
from engagements.runs import services as runs
from engagements.runs.models import COMMIT, EngagementRun
from engagements.runs.pairs import Decision
from engagements.runs.places import Place
from engagements.runs.summary import verdict_of

# Progress without the worker and the number of attempts, which stay internal.
PROGRESS = ("phase", "replicate", "replicates", "round", "rounds", "ratio", "low", "high")


SIGNER = {"key": "4f1c09b27d3e8a56", "name": "gpu-1", "party": Place.HOUSE.value}
PARTIES = [(each.value, each.label) for each in (Place.HOUSE, Place.CUSTOMER)]


class SignerSerializer(serializers.Serializer[Any]):
    """The key that signed a record, and whose it is. GET /keys/KEY.pub is its public half."""

    key = serializers.CharField()
    name = serializers.CharField()
    party = serializers.ChoiceField(choices=PARTIES)
    retired_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)


@example(
    id=14,
    digest=DIGEST,
    verdict="met",
    ratio=2.41,
    low=2.33,
    high=2.5,
    device_name="NVIDIA H200",
    signer=SIGNER | {"retired_at": None, "revoked_at": None},
    summary={"verdict": "met", "target": 2.0},
    received_at="2026-10-22T09:15:04Z",
)
class RecordSerializer(Row):
    """A record. Figures are recomputed from the raw samples; null where nothing was measured."""

    summary = serializers.JSONField(read_only=True)
    signer = serializers.SerializerMethodField()

    @extend_schema_field(SignerSerializer(allow_null=True))
    def get_signer(self, record: Record) -> dict[str, Any] | None:
        """Return the signer; None where the record is not signed."""
        key = record.signed_by
        if key is None:
            return None
        return {
            "key": key.key_id,
            "name": key.name,
            "party": Place.CUSTOMER if key.owner else Place.HOUSE,
            "retired_at": key.retired_at,
            "revoked_at": key.revoked_at,
        }

    class Meta:
        model = Record
        fields = (
            "id",
            "digest",
            "verdict",
            "ratio",
            "low",
            "high",
            "device_name",
            "signer",
            "summary",
            "received_at",
        )


class RecordsFilter(Filter):
    """By digest and verdict."""

    digest = django_filters.CharFilter()
    verdict = django_filters.MultipleChoiceFilter(choices=Verdict.choices)
    updated_since = UpdatedSince("received_at", engagement=None)


class Records(Resource):
    """Signed records of the runs that the user may see."""

    scope = Scope.RUNS
    serializer_class = RecordSerializer
    filterset_class = RecordsFilter

    def rows(self) -> QuerySet[Any]:
        return access.records_for(self.request.user).select_related("signed_by")

    @extend_schema(responses={200: OpenApiTypes.OBJECT})
    @action(detail=True, pagination_class=None, filterset_class=None)
    def content(self, request: Request, pk: str) -> HttpResponse:
        """Download the signed record, without the kernel's source where it is withheld."""
        record = self.get_object()
        run = access.rows_for(request.user, "EngagementRun").select_related(
            "run__record", "engagement__customer", "acceptance__run__record"
        )
        asked = run.get(run=record.run_id)
        assert isinstance(request.user, User)
        with_source = bundles.may_have_source(run=asked, by=request.user)
        content = record_files.content(asked, with_source=with_source)
        return HttpResponse(content, content_type="application/json")


class ProgressSerializer(serializers.Serializer[Any]):
    """The progress of a measurement, with the estimate so far."""

    phase = serializers.CharField(allow_null=True)
    replicate = serializers.IntegerField(allow_null=True)
    replicates = serializers.IntegerField(allow_null=True)
    round = serializers.IntegerField(allow_null=True)
    rounds = serializers.IntegerField(allow_null=True)
    ratio = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


@example(
    id=31,
    engagement="TF-2026-0007",
    purpose="trial",
    measured_by="house",
    counterpart=None,
    state="queued",
    verdict=None,
    benchmark=2,
    candidate=9,
    attempt=None,
    commit="4e1243bd22c66e76c2ba9eddc1f91394e57f9f83",
    requested_at="2026-10-22T09:14:00Z",
    started_at=None,
    finished_at=None,
    failure_code=None,
    failure_reason="",
    progress=None,
    record=None,
)
class RunSerializer(Row):
    """A run. `progress` is null unless it is running, `record` until it was measured.

    `attempt` numbers the acceptance runs that count. `failure_code` is the cause of a failure,
    and `failure_reason` its details, for staff.

    Where both parties measure, `counterpart` is the run by the customer's runner of the same
    request, and `verdict` is that of both: null until both have ended.
    """

    engagement = Reference()
    state = serializers.ChoiceField(source="run.state", choices=Run.State.choices, read_only=True)
    measured_by = serializers.SerializerMethodField()
    verdict = serializers.SerializerMethodField()
    benchmark = serializers.IntegerField(source="run.benchmark_id", read_only=True)
    candidate = serializers.IntegerField(source="run.solution_id", read_only=True)
    requested_at = serializers.DateTimeField(source="run.requested_at", read_only=True)
    started_at = serializers.DateTimeField(source="run.started_at", read_only=True, allow_null=True)
    finished_at = serializers.DateTimeField(
        source="run.finished_at", read_only=True, allow_null=True
    )
    failure_code = serializers.SerializerMethodField()
    failure_reason = serializers.SerializerMethodField()
    progress = serializers.SerializerMethodField()
    record = RecordSerializer(source="run.record", read_only=True, allow_null=True)

    class Meta:
        model = EngagementRun
        fields = (
            "id",
            "engagement",
            "purpose",
            "measured_by",
            "counterpart",
            "state",
            "verdict",
            "benchmark",
            "candidate",
            "attempt",
            "commit",
            "requested_at",
            "started_at",
            "finished_at",
            "failure_code",
            "failure_reason",
            "progress",
            "record",
        )

    @extend_schema_field(serializers.ChoiceField(choices=PARTIES))
    def get_measured_by(self, run: EngagementRun) -> str:
        """Return whose machines measure the run."""
        return Place.CUSTOMER if run.run.measured_by else Place.HOUSE

    @extend_schema_field(serializers.ChoiceField(choices=Decision.choices, allow_null=True))
    def get_verdict(self, run: EngagementRun) -> str | None:
        """Return the verdict, also of a repeat that replaced it; None before it."""
        return verdict_of(run) or None

    @extend_schema_field(ProgressSerializer(allow_null=True))
    def get_progress(self, run: EngagementRun) -> dict[str, Any] | None:
        """Return the progress of a running run, else None."""
        if run.run.state != Run.State.RUNNING:
            return None
        return {name: run.run.progress.get(name) for name in PROGRESS}

    @extend_schema_field(
        serializers.ChoiceField(
            choices=[(code.value, LABELS[code]) for code in FailureCode], allow_null=True
        )
    )
    def get_failure_code(self, run: EngagementRun) -> str | None:
        """Return the cause of a failure; None where the run has not failed."""
        return run.run.failure_code or None

    def get_failure_reason(self, run: EngagementRun) -> str:
        """Return why the run failed. It may name machines and paths, so customers do not see it."""
        return run.run.failure_reason if self.context.get("is_staff_member") else ""


@example(engagement="TF-2026-0007", candidate=9, purpose="trial")
class NewRunSerializer(serializers.Serializer[Any]):
    """A candidate to measure. Without `benchmark` that of the newest contract is used."""

    engagement = serializers.CharField()
    candidate = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    purpose = serializers.ChoiceField(
        choices=[
            (each.value, each.label)
            for each in (EngagementRun.Purpose.TRIAL, EngagementRun.Purpose.ACCEPTANCE)
        ]
    )
    benchmark = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    customer_nonce = serializers.RegexField(
        r"^[0-9a-f]{32,128}$", required=False, help_text="32 to 128 hexadecimal digits."
    )
    place = serializers.ChoiceField(
        choices=PARTIES, required=False, help_text="Of a trial: whose machines measure it."
    )
    commit = serializers.RegexField(
        COMMIT, required=False, help_text="The source's commit, 7 to 64 hexadecimal digits."
    )


class RunsFilter(Filter):
    """By engagement, purpose and state."""

    engagement = EngagementFilter()
    purpose = django_filters.ChoiceFilter(choices=EngagementRun.Purpose.choices)
    state = django_filters.MultipleChoiceFilter(field_name="run__state", choices=Run.State.choices)
    updated_since = UpdatedSince("run__requested_at", "run__started_at", "run__finished_at")


class Runs(Resource):
    """Runs. Consultants request them; customers see acceptance runs, as trials are internal."""

    scope = Scope.RUNS
    serializer_class = RunSerializer
    filterset_class = RunsFilter

    def rows(self) -> QuerySet[Any]:
        rows = access.rows_for(self.request.user, "EngagementRun")
        return rows.select_related("engagement", "run__record__signed_by")

    def get_serializer_context(self) -> dict[str, Any]:
        is_staff_member = access.is_staff_member(self.request.user)
        return {**super().get_serializer_context(), "is_staff_member": is_staff_member}

    @extend_schema(request=NewRunSerializer, responses={201: RunSerializer})
    @idempotent
    def create(self, request: Request) -> Response:
        """Request a run. An acceptance run decides the contract; a trial has no effect on it."""
        access.admit_consultant(request.user)
        given = NewRunSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        values = given.validated_data
        chosen = values.get("benchmark")
        assert isinstance(request.user, User)
        row = runs.request(
            engagement=access.engagement_for(request.user, values["engagement"]),
            solution=_one(Solution.objects.filter(pk=values["candidate"]), "candidate"),
            purpose=values["purpose"],
            request_key=uuid4(),
            benchmark=_one(Benchmark.objects.filter(pk=chosen), "benchmark") if chosen else None,
            customer_nonce=values.get("customer_nonce", ""),
            place=values.get("place"),
            commit=values.get("commit", ""),
            by=request.user,
        )
        data = self.get_serializer(self.rows().get(pk=row.pk)).data
        return Response(data, status=status.HTTP_201_CREATED)

    @extend_schema(responses={(200, live.MEDIA_TYPE): OpenApiTypes.STR})
    @action(
        detail=True,
        pagination_class=None,
        filterset_class=None,
        renderer_classes=[live.EventStreamRenderer],
    )
    def events(self, request: Request, pk: str) -> HttpResponseBase:
        """Follow a run by server-sent events: `run` for each change, `end` once it is concluded.

        The stream ends after 30 seconds; clients reconnect by themselves.
        """
        asked = self.get_object()
        return live.stream(lambda: self.get_serializer(self.rows().get(pk=asked.pk)).data)


def _one(rows: QuerySet[Any], noun: str) -> Any:
    row = rows.first()
    if row is None:
        raise Http404(f"No such {noun}.")
    return row
