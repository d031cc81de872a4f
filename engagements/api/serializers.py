"""What the API says of an engagement: the same as the portal, as data."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.reverse import reverse

from benchmarks.models import Record, Run
from engagements.contracts.time_box.models import TimeBox
from engagements.documents.models import Document
from engagements.engagement.models import Engagement
from engagements.evidence.models import Evidence
from engagements.runs.models import EngagementRun
from engagements.runs.summary import record_of

# What a page shows of a run under way. Who measures it, and how often it was tried, is not said.
PROGRESS = ("phase", "replicate", "replicates", "round", "rounds", "ratio", "low", "high")


class TimeBoxSerializer(serializers.ModelSerializer[TimeBox]):
    """The first and the last day of the work."""

    class Meta:
        model = TimeBox
        fields = ("starts_on", "ends_on")


class EngagementSerializer(serializers.ModelSerializer[Engagement]):
    """One engagement, with the addresses of its runs and documents."""

    customer = serializers.CharField(source="customer.name", read_only=True)
    lead = serializers.CharField(source="lead.name", read_only=True)
    time_box = serializers.SerializerMethodField()
    url = serializers.HyperlinkedIdentityField(view_name="api-engagement", lookup_field="reference")
    runs_url = serializers.HyperlinkedIdentityField(view_name="api-runs", lookup_field="reference")
    documents_url = serializers.HyperlinkedIdentityField(
        view_name="api-documents", lookup_field="reference"
    )

    class Meta:
        model = Engagement
        fields = (
            "reference",
            "title",
            "customer",
            "lead",
            "stage",
            "stage_since",
            "opened_at",
            "time_box",
            "url",
            "runs_url",
            "documents_url",
        )

    def get_time_box(self, engagement: Engagement) -> dict[str, Any] | None:
        """The time-box, None before the contract is in force."""
        box = getattr(engagement, "time_box", None)
        return dict(TimeBoxSerializer(box).data) if box else None


class RecordSerializer(serializers.ModelSerializer[Record]):
    """What was measured. The figures are those computed again on arrival, None if not measured."""

    class Meta:
        model = Record
        fields = ("digest", "verdict", "ratio", "low", "high", "device_name", "summary")


class RunSerializer(serializers.ModelSerializer[EngagementRun]):
    """A run with how far it is, and what it measured once it is over."""

    id = serializers.IntegerField(source="pk", read_only=True)
    state = serializers.CharField(source="run.state", read_only=True)
    benchmark_digest = serializers.CharField(source="run.benchmark.digest", read_only=True)
    requested_at = serializers.DateTimeField(source="run.requested_at", read_only=True)
    started_at = serializers.DateTimeField(source="run.started_at", read_only=True)
    finished_at = serializers.DateTimeField(source="run.finished_at", read_only=True)
    progress = serializers.SerializerMethodField()
    record = serializers.SerializerMethodField()
    url = serializers.SerializerMethodField()

    class Meta:
        model = EngagementRun
        fields = (
            "id",
            "purpose",
            "state",
            "benchmark_digest",
            "requested_at",
            "started_at",
            "finished_at",
            "progress",
            "record",
            "url",
        )

    def get_progress(self, asked: EngagementRun) -> dict[str, Any] | None:
        """How far a run under way is, None before and after."""
        if asked.run.state != Run.State.RUNNING:
            return None
        return {name: asked.run.progress.get(name) for name in PROGRESS}

    def get_record(self, asked: EngagementRun) -> dict[str, Any] | None:
        """What was measured, None as long as there is no record."""
        record = record_of(asked)
        return dict(RecordSerializer(record).data) if record else None

    def get_url(self, asked: EngagementRun) -> str:
        """The address of this run."""
        return reverse(
            "api-run",
            args=[asked.engagement.reference, asked.pk],
            request=self.context.get("request"),
        )


class EvidenceSerializer(serializers.ModelSerializer[Evidence]):
    """A file of evidence and how far it is."""

    url = serializers.SerializerMethodField()

    class Meta:
        model = Evidence
        fields: tuple[str, ...] = (
            "id",
            "name",
            "digest",
            "size_bytes",
            "added_by_name",
            "added_at",
            "state",
            "read_share",
            "format",
            "failure_reason",
            "url",
        )

    def get_url(self, row: Evidence) -> str:
        """The address of this file, where its summary is."""
        return reverse(
            "api-one-evidence",
            args=[row.engagement.reference, row.pk],
            request=self.context.get("request"),
        )


class OneEvidenceSerializer(EvidenceSerializer):
    """A file with its `summary`: what was read from it, None as long as it was not."""

    class Meta(EvidenceSerializer.Meta):
        fields = (*EvidenceSerializer.Meta.fields, "summary")


class DocumentSerializer(serializers.ModelSerializer[Document]):
    """A document as it was issued; `url` is where its bytes are."""

    url = serializers.HyperlinkedIdentityField(view_name="document")

    class Meta:
        model = Document
        fields = ("id", "kind", "title", "filename", "size_bytes", "digest", "issued_at", "url")
