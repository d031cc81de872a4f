"""Withhold the candidate's source and output from a record, which still verifies without them.

Their digests stay, and the record's digest and signature cover those.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from benchmarks.records.canonical import canonical


def without_source(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with null for the candidate's source, and for its output if there is any."""
    candidate = record.get("candidate")
    if not isinstance(candidate, dict):
        return dict(record)
    withheld = dict.fromkeys(("source", *({"output"} & candidate.keys())))
    return {**record, "candidate": {**candidate, **withheld}}


def withhold_source(content: bytes) -> bytes:
    """A record's file without the source; its digest and signature still verify."""
    return canonical(without_source(json.loads(content)))
