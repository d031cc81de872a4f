"""Ratios that were measured: by runs of the engagement, and by the catalogue's own records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchmarks.models import Record
from engagements.audit.rules.case import Measured
from engagements.audit.rules.figures import Interval
from engagements.audit.rules.finding import Known, Source
from engagements.catalogue import queries as catalogue
from engagements.engagement.models import Engagement


def of_engagement(engagement: Engagement, operator: str) -> tuple[Known[Measured], ...]:
    """What this engagement's runs of an operator measured end to end, the newest first.

    Runs that were invalid or disqualified say nothing.
    """
    return tuple(
        _known(
            baseline=record.run.benchmark.document["baseline"],
            low=record.low,
            high=record.high,
            name=f"Run of {record.run.solution.name}",
            digest=record.digest,
        )
        for record in _records(engagement)
        if record.run.benchmark.operator == operator
    )


def of_catalogue(operator: str) -> tuple[Known[Measured], ...]:
    """What the catalogue's signed records of an operator say."""
    return tuple(
        _known(
            baseline=report.record["benchmark"]["baseline"],
            low=report.low,
            high=report.high,
            name=f"Record {report.operator}/{report.name}",
            digest=report.record.get("digest"),
        )
        for report in catalogue.sound()
        if report.operator == operator and report.verdict not in SILENT
    )


def digests_of(engagement: Engagement) -> list[str]:
    """The digests of the records that `of_engagement` may look at."""
    return [record.digest for record in _records(engagement)]


SILENT = ("invalid", "disqualified")


def _records(engagement: Engagement) -> Iterable[Record]:
    return (
        Record.objects.filter(
            run__in=engagement.runs.values("run_id"), low__isnull=False, high__isnull=False
        )
        .exclude(verdict__in=SILENT)
        .select_related("run__benchmark", "run__solution")
    )


def _known(
    *, baseline: dict[str, Any], low: Any, high: Any, name: str, digest: str | None
) -> Known[Measured]:
    words = f"{baseline['name']} {baseline['package']} {baseline['title']}"
    return Known(
        value=Measured(baseline=words, ratio=Interval(low=low, high=high)),
        source=Source(kind="run", name=name, digest=digest, detail=baseline["title"]),
    )
