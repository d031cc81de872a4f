"""Facts of a file: computed by a reader, stored as a summary, used by checks.

Shares are fractions of 1. `None` means not measured. Every list is bounded (`limits`), so a summary
is small for any file.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from engagements.evidence.readers.facts.compute import (
    ComputeFacts,
    MeasuredKernel,
    Stall,
    Unit,
)
from engagements.evidence.readers.facts.trace import (
    DeviceTime,
    FoundKind,
    GapLengths,
    Gaps,
    GroupKind,
    GroupTime,
    KernelLane,
    KernelTime,
    Launches,
    StepTime,
    Time,
    Timeline,
    TraceFacts,
    Window,
)
from engagements.evidence.readers.facts.traffic import Curve, Drift, Part, Shape, TrafficFacts

__all__ = [
    "SCHEMA",
    "ComputeFacts",
    "Curve",
    "DeviceTime",
    "Drift",
    "Facts",
    "FoundKind",
    "GapLengths",
    "Gaps",
    "GroupKind",
    "GroupTime",
    "KernelLane",
    "KernelTime",
    "Launches",
    "MeasuredKernel",
    "Part",
    "Shape",
    "Stall",
    "StepTime",
    "Time",
    "Timeline",
    "TraceFacts",
    "TrafficFacts",
    "Unit",
    "Window",
    "as_data",
    "from_data",
]

Facts: TypeAlias = TraceFacts | ComputeFacts | TrafficFacts

SCHEMA = "twofold.evidence/1"
KINDS: dict[str, type[TraceFacts] | type[ComputeFacts] | type[TrafficFacts]] = {
    "chrome_trace": TraceFacts,
    "nsight_systems": TraceFacts,
    "nsight_compute": ComputeFacts,
    "traffic": TrafficFacts,
}


def as_data(facts: Facts) -> dict[str, Any]:
    """Serialise facts as JSON data with their schema."""
    return {"schema": SCHEMA, **msgspec.to_builtins(facts)}


def from_data(data: dict[str, Any]) -> Facts:
    """Restore facts from a stored summary. ValueError for another schema."""
    if data.get("schema") != SCHEMA:
        raise ValueError(f"This summary is not of schema {SCHEMA}.")
    return msgspec.convert(data, KINDS[data["format"]])
