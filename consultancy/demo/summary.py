"""What came of the demonstration: for the terminal, and as data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from consultancy.demo.story import Scene
from consultancy.demo.waiting import measured
from engagements.models import Document, EngagementRun, Settlement
from engagements.money import plain


def of(scenes: list[Scene], *, folder: Path) -> dict[str, Any]:
    """The outcome as JSON data; every document's bytes, as stored, are written to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    return {"engagements": [_engagement(scene, folder=folder) for scene in scenes]}


def lines(outcome: dict[str, Any]) -> list[str]:
    """The outcome for a person who reads it on a terminal."""
    told = []
    for entry in outcome["engagements"]:
        told.append(f"{entry['name']}")
        told.append(
            f"  verdict     {entry['verdict'] or 'none: ' + entry['failure_reason']}, "
            f"{measured(entry['ratio'], entry['low'], entry['high'])} "
            f"against a target of {entry['target']}x"
        )
        told.append(f"  measured on {entry['device'] or 'nothing'}")
        if entry["settlement"] is not None:
            told.append(
                f"  settlement  {entry['settlement']['refund']} "
                f"{entry['settlement']['currency']} went back"
            )
        told += [f"  document    {path}" for path in entry["documents"]]
        told.append("")
    return told


def _engagement(scene: Scene, *, folder: Path) -> dict[str, Any]:
    request = EngagementRun.objects.select_related("run__record", "contract_version").get(
        pk=scene.acceptance.pk
    )
    record = getattr(request.run, "record", None)
    settlement = Settlement.objects.filter(
        contract_version=request.contract_version, state=Settlement.State.PAID
    ).first()
    return {
        "name": f"{scene.engagement.reference} {scene.engagement.customer.name}",
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
            for document in Document.objects.filter(engagement=scene.engagement).order_by("pk")
        ],
    }


def _export(document: Document, *, folder: Path) -> Path:
    path = folder / document.filename
    path.write_bytes(bytes(document.content))
    return path
