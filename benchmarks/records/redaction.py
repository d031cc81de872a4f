"""Withhold the candidate's source from a record, which still verifies without it.

The source's digest stays, and the record's digest and signature cover that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from benchmarks.records.canonical import canonical


def without_source(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with null for the candidate's source."""
    candidate = record.get("candidate")
    if not isinstance(candidate, dict):
        return dict(record)
    return {**record, "candidate": {**candidate, "source": None}}


def withhold_source(content: bytes) -> bytes:
    """A record's file without the source; its digest and signature still verify."""
    return canonical(without_source(json.loads(content)))
