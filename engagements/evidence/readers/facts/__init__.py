"""What is known from one file, as data: made by a reader, stored as a summary, read by checks.

Shares are fractions of 1. `None` says 'not measured'. Every list is bounded (`limits`), so a
summary is small however large the file.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from engagements.evidence.readers.facts.compute import ComputeFacts, MeasuredKernel
from engagements.evidence.readers.facts.trace import (
    DeviceTime,
    FoundKind,
    GapLengths,
    Gaps,
    GroupKind,
    GroupTime,
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
    "KernelTime",
    "Launches",
    "MeasuredKernel",
    "Part",
    "Shape",
    "StepTime",
    "Time",
    "Timeline",
    "TraceFacts",
    "TrafficFacts",
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
    """The summary as it is stored: plain JSON data with its schema."""
    return {"schema": SCHEMA, **msgspec.to_builtins(facts)}


def from_data(data: dict[str, Any]) -> Facts:
    """The facts of a stored summary. ValueError when it is of another schema."""
    if data.get("schema") != SCHEMA:
        raise ValueError(f"This summary is not of schema {SCHEMA}.")
    return msgspec.convert(data, KINDS[data["format"]])
