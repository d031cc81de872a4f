"""Sealed benchmarks and candidates."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from benchmarks.models import Benchmark, Solution
from benchmarks.services import solutions
from engagements import access
from engagements.api.fields import DIGEST, Row, example
from engagements.api.idempotency import idempotent
from engagements.api.resources import Filter, Resource, UpdatedSince
from engagements.people.token_models import Scope

BENCHMARK = {
    "id": 2,
    "name": "Shared-prefix attention on an H200",
    "operator": "shared_prefix_attention",
    "digest": DIGEST,
    "sealed_at": "2026-09-20T09:00:00Z",
}


@example(**BENCHMARK)
class BenchmarkSerializer(Row):
    """A sealed benchmark. `digest` is the SHA-256 of its document."""

    class Meta:
        model = Benchmark
        fields: tuple[str, ...] = ("id", "name", "operator", "digest", "sealed_at")


@example(**BENCHMARK, document={"schema": "twofold.benchmark/1"})
class OneBenchmarkSerializer(BenchmarkSerializer):
    """A benchmark with the sealed `document`, schema twofold.benchmark/1."""

    document = serializers.JSONField(read_only=True)

    class Meta(BenchmarkSerializer.Meta):
        fields = (*BenchmarkSerializer.Meta.fields, "document")


class BenchmarksFilter(Filter):
    """By digest and operator."""

    digest = django_filters.CharFilter()
    operator = django_filters.CharFilter()
    updated_since = UpdatedSince("sealed_at", engagement=None)


class Benchmarks(Resource):
    """Sealed benchmarks. Customers see those of their contracts."""

    scope = Scope.RUNS
    serializer_class = BenchmarkSerializer
    filterset_class = BenchmarksFilter

    def rows(self) -> QuerySet[Any]:
        return access.benchmarks_for(self.request.user)

    def get_serializer_class(self) -> type[BenchmarkSerializer]:
        return OneBenchmarkSerializer if self.action == "retrieve" else BenchmarkSerializer


@example(
    id=9,
    name="triton_fused",
    operator="shared_prefix_attention",
    filename="triton_fused.py",
    digest=DIGEST,
    created_at="2026-10-09T10:00:00Z",
)
class CandidateSerializer(Row):
    """A candidate's source, by its digest. The API never returns the source itself."""

    class Meta:
        model = Solution
        fields = ("id", "name", "operator", "filename", "digest", "created_at")


@example(
    operator="shared_prefix_attention",
    filename="triton_fused.py",
    source="def prepare(problem): ...\n\ndef run(prepared, inputs, out): ...\n",
)
class NewCandidateSerializer(serializers.Serializer[Any]):
    """One source file: Python, or CUDA with its launcher. The file's name is the default name."""

    operator = serializers.CharField(max_length=80)
    filename = serializers.CharField(max_length=120)
    source = serializers.CharField(trim_whitespace=False, allow_blank=True)  # type: ignore[assignment]
    name = serializers.CharField(max_length=120, required=False)


class CandidatesFilter(Filter):
    """By digest and operator."""

    digest = django_filters.CharFilter()
    operator = django_filters.CharFilter()
    updated_since = UpdatedSince("created_at", engagement=None)


class Candidates(Resource):
    """Candidates. Consultants submit them; customers see those of their acceptance runs."""

    scope = Scope.RUNS
    serializer_class = CandidateSerializer
    filterset_class = CandidatesFilter

    def rows(self) -> QuerySet[Any]:
        return access.candidates_for(self.request.user).defer("source")

    @extend_schema(request=NewCandidateSerializer, responses={201: CandidateSerializer})
    @idempotent
    def create(self, request: Request) -> Response:
        """Store a candidate. The same source under the same name is one row; nothing runs yet."""
        access.admit_consultant(request.user)
        given = NewCandidateSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        values = given.validated_data
        row = solutions.submit(
            name=values.get("name") or values["filename"].rpartition(".")[0],
            operator=values["operator"],
            filename=values["filename"],
            source=values["source"],
        )
        return Response(self.get_serializer(row).data, status=status.HTTP_201_CREATED)
