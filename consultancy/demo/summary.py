"""The outcome of the demonstration, as text and as JSON data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from consultancy.demo.lifecycle import StartedEngagement
from consultancy.demo.waiting import format_ratio
from engagements.common.money import plain
from engagements.documents.models import Document
from engagements.runs.models import EngagementRun
from engagements.settlements.models import Settlement


def summarize(started: list[StartedEngagement], *, folder: Path) -> dict[str, Any]:
    """The outcome as JSON data; writes every document to `folder` as stored."""
    folder.mkdir(parents=True, exist_ok=True)
    return {"engagements": [_engagement(each, folder=folder) for each in started]}


def format_lines(outcome: dict[str, Any]) -> list[str]:
    """The outcome as lines for a terminal."""
    lines = []
    for entry in outcome["engagements"]:
        lines.append(f"{entry['name']}")
        lines.append(
            f"  verdict     {entry['verdict'] or 'none: ' + entry['failure_reason']}, "
            f"{format_ratio(entry['ratio'], entry['low'], entry['high'])}, "
            f"target {entry['target']}×"
        )
        lines.append(f"  device      {entry['device'] or 'none'}")
        if entry["settlement"] is not None:
            lines.append(
                f"  refunded    {entry['settlement']['currency']} {entry['settlement']['refund']}"
            )
        lines += [f"  document    {path}" for path in entry["documents"]]
        lines.append("")
    return lines


def _engagement(started: StartedEngagement, *, folder: Path) -> dict[str, Any]:
    request = EngagementRun.objects.select_related("run__record", "contract_version").get(
        pk=started.acceptance.pk
    )
    record = getattr(request.run, "record", None)
    settlement = Settlement.objects.filter(
        contract_version=request.contract_version, state=Settlement.State.PAID
    ).first()
    return {
        "name": f"{started.engagement.reference} {started.engagement.customer.name}",
        "verdict": record and record.verdict,
        "ratio": record and record.ratio,
        "low": record and record.low,
        "high": record and record.high,
        "target": float(request.run.benchmark.document["target"]),
        "device": record and record.device_name,
        "failure_reason": request.run.failure_reason,
        "settlement": settlement
        and {
            "refund": plain(settlement.refund, settlement.currency),
            "currency": settlement.currency,
        },
        "documents": [
            str(_export(document, folder=folder))
            for document in Document.objects.filter(engagement=started.engagement).order_by("pk")
        ],
    }


def _export(document: Document, *, folder: Path) -> Path:
    path = folder / document.filename
    path.write_bytes(bytes(document.content))
    return path
