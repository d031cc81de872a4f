"""Reads of customers' own benchmarks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from benchmarks.models import Benchmark
from benchmarks.records import captured_tensors
from engagements.benchmark.models import SealedVersion
from engagements.common.errors import ApplicationError
from engagements.engagement.models import Engagement


def benchmarks_for(engagement: Engagement) -> QuerySet[Benchmark]:
    """The sealed benchmarks that an engagement may use: the catalogue's and its customer's own."""
    others = SealedVersion.objects.exclude(version__engagement__customer=engagement.customer_id)
    own = SealedVersion.objects.filter(version__engagement__customer=engagement.customer_id)
    return Benchmark.objects.exclude(
        pk__in=others.exclude(benchmark__in=own.values("benchmark")).values("benchmark")
    )


def require_usable(engagement: Engagement, benchmark: Benchmark) -> None:
    """Refuse a benchmark that another customer brought."""
    if not benchmarks_for(engagement).filter(pk=benchmark.pk).exists():
        raise ApplicationError(
            "Another customer brought this benchmark. Choose one of this engagement.",
            code="benchmark.other_customer",
        )


@dataclass(frozen=True, kw_only=True)
class WorkloadRow:
    """One workload as both sides read it."""

    name: str
    sizes: str
    weight: float
    baseline_us: float | None
    captured: str = ""


def workload_rows(document: Mapping[str, Any]) -> list[WorkloadRow]:
    """The workloads of a benchmark, the heaviest first, with the baseline's calibrated times."""
    measured = (document["calibration"] or {}).get("baseline_us", {})
    rows = [
        WorkloadRow(
            name=load["name"],
            sizes=", ".join(f"{axis} {size:,}" for axis, size in load["axes"].items()),
            weight=load["weight"],
            baseline_us=measured.get(load["name"]),
            captured=captured_text(document, load),
        )
        for load in document["workloads"]
    ]
    return sorted(rows, key=lambda row: -row.weight)


def captured_text(document: Mapping[str, Any], load: Mapping[str, Any]) -> str:
    """The captured tensors of a workload, "" where all of its inputs are drawn."""
    if "captured" not in load:
        return ""
    return captured_tensors.shapes_text(document["captured"][load["captured"]])
