"""The content of a benchmark report, from the record as verified on arrival."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db.models import Q

from benchmarks import queries
from benchmarks.records.canonical import canonical
from benchmarks.verdict.explanations import level, shown_level
from engagements.common import ratios
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.documents import formatting
from engagements.documents.registry import Subject
from engagements.documents.renderable import Enclosure, RenderableDocument
from engagements.runs import controls
from engagements.runs.bundles import WITHHELD, customer_may_have_source, record_bytes
from engagements.runs.explanations import explain
from engagements.runs.models import EngagementRun
from engagements.runs.report import measured, pictures
from engagements.runs.sides import sides_of
from engagements.runs.summary import record_of

NOUN = "run"


def due() -> Iterator[Subject]:
    """Yield every run that has a record; one report covers both measurements of a run."""
    recorded = EngagementRun.objects.filter(run__record__isnull=False).exclude(
        Q(purpose=EngagementRun.Purpose.COUNTERPART)
        | Q(counterpart__isnull=False, concluded_at__isnull=True)
    )
    return (Subject(NOUN, pk) for pk in recorded.values_list("pk", flat=True))


def compose(subject: Subject) -> RenderableDocument:
    """Compose the report of a measured run. Raises an error without a readable record."""
    asked = EngagementRun.objects.select_related(
        "engagement__customer",
        "contract_version",
        "run__record",
        "requested_by",
        "counterpart__run__record",
    ).get(pk=subject.pk)
    if not hasattr(asked.run, "record"):
        raise ApplicationError(
            "A benchmark report is issued once the run has a record.", code="run.no_record"
        )
    record = queries.record_of(asked.run)
    # The report of a trial run is internal.
    trial = asked.purpose == EngagementRun.Purpose.TRIAL
    with_source = trial or customer_may_have_source(asked)
    # The figures are recomputed on arrival, never the record's own.
    record = {**record, "summary": asked.run.record.summary}
    engagement = asked.engagement
    return RenderableDocument(
        engagement=engagement,
        title=f"Benchmark report {engagement.reference}, run {asked.run_id}",
        running_title=f"Benchmark report {engagement.reference}, run {asked.run_id}",
        filename=f"{engagement.reference}-benchmark-report-run-{asked.run_id}.pdf",
        template="runs/document/benchmark_report.html",
        dated=asked.run.record.received_at,
        seal=record["digest"],
        sealed="The record, attached as record.json",
        summary=f"{record['candidate']['name']} against {record['benchmark']['baseline']['name']}.",
        context={**_context(asked, record), "withheld": "" if with_source else WITHHELD},
        enclosures=(
            Enclosure(
                "benchmark.json",
                canonical(record["benchmark"]),
                "The sealed benchmark that was measured",
            ),
            Enclosure(
                "record.json",
                record_bytes(run=asked, with_source=with_source),
                "Every sample, with the environment",
            ),
            *_customer_record(asked, with_source=with_source),
        ),
        for_customer=asked.purpose == EngagementRun.Purpose.ACCEPTANCE,
    )


def _customer_record(asked: EngagementRun, *, with_source: bool) -> Iterator[Enclosure]:
    """The record of the customer's runner, where both parties measured."""
    if asked.counterpart is not None and record_of(asked.counterpart) is not None:
        yield Enclosure(
            "customer-record.json",
            record_bytes(run=asked.counterpart, with_source=with_source),
            "The record of the customer’s runner",
        )


def _context(asked: EngagementRun, record: dict[str, Any]) -> dict[str, Any]:
    benchmark, summary = record["benchmark"], record["summary"]
    return {
        "engagement": asked.engagement,
        "asked": asked,
        "consultancy": formatting.party(settings.CONSULTANCY),
        "customer": formatting.customer(asked.engagement.customer),
        "measured_on": in_words(asked.run.record.received_at),
        "started_at": formatting.moment_of(record["started_at"]),
        "finished_at": formatting.moment_of(record["finished_at"]),
        "elapsed": f"{record['elapsed_s']:.0f} s",
        "record": record,
        "benchmark": benchmark,
        "summary": summary,
        "verdict": explain(asked, summary),
        "ratio": ratios.measured(summary["ratio"]),
        "low": ratios.measured(summary["low"]),
        "high": ratios.measured(summary["high"]),
        "target": ratios.measured(summary["target"]),
        "confidence": shown_level(level(summary) or summary["confidence"]),
        "workloads": measured.workloads(summary),
        "correctness": measured.correctness(record),
        "operator": measured.operator(record),
        "account": measured.account(record),
        "controls": controls.of(record),
        "environment": measured.environment(record),
        "protections": measured.protections(record),
        "digests": measured.digests(record),
        "signer": asked.run.record.signed_by,
        "sides": sides_of(asked),
        "findings": record["findings"],
        "pictures": pictures.of(record),
        "has_roof": pictures.has_roof(record),
        "device_name": record["environment"]["device"]["name"],
        "launch": "as a CUDA graph" if benchmark["program"]["launch"] == "graph" else "eagerly",
    }
