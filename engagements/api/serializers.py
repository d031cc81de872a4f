"""JSON of engagements, runs, evidence and documents."""

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

# Progress without the worker and the number of attempts, which stay internal.
PROGRESS = ("phase", "replicate", "replicates", "round", "rounds", "ratio", "low", "high")


class TimeBoxSerializer(serializers.ModelSerializer[TimeBox]):
    """The first and the last day of the work."""

    class Meta:
        model = TimeBox
        fields = ("starts_on", "ends_on")


class EngagementSerializer(serializers.ModelSerializer[Engagement]):
    """An engagement with the URLs of its runs and documents."""

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
        """Return the time-box; None before the contract is in force."""
        box = getattr(engagement, "time_box", None)
        return dict(TimeBoxSerializer(box).data) if box else None


class RecordSerializer(serializers.ModelSerializer[Record]):
    """A record. Figures are recomputed from raw samples; None if not measured."""

    class Meta:
        model = Record
        fields = ("digest", "verdict", "ratio", "low", "high", "device_name", "summary")


class RunSerializer(serializers.ModelSerializer[EngagementRun]):
    """A run with its progress and its record."""

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

    def get_progress(self, run: EngagementRun) -> dict[str, Any] | None:
        """Return the progress of a running run, else None."""
        if run.run.state != Run.State.RUNNING:
            return None
        return {name: run.run.progress.get(name) for name in PROGRESS}

    def get_record(self, run: EngagementRun) -> dict[str, Any] | None:
        """Return the record, if any."""
        record = record_of(run)
        return dict(RecordSerializer(record).data) if record else None

    def get_url(self, run: EngagementRun) -> str:
        """Return the URL of this run."""
        return reverse(
            "api-run",
            args=[run.engagement.reference, run.pk],
            request=self.context.get("request"),
        )


class EvidenceSerializer(serializers.ModelSerializer[Evidence]):
    """An evidence file with its reading progress."""

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
        """Return the URL of this file with its summary."""
        return reverse(
            "api-one-evidence",
            args=[row.engagement.reference, row.pk],
            request=self.context.get("request"),
        )


class OneEvidenceSerializer(EvidenceSerializer):
    """A file with the `summary` of its content; None until it is read."""

    class Meta(EvidenceSerializer.Meta):
        fields = (*EvidenceSerializer.Meta.fields, "summary")


class DocumentSerializer(serializers.ModelSerializer[Document]):
    """An issued document; `url` serves the PDF."""

    url = serializers.HyperlinkedIdentityField(view_name="document")

    class Meta:
        model = Document
        fields = ("id", "kind", "title", "filename", "size_bytes", "digest", "issued_at", "url")
