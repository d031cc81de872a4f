"""A record without the candidate's source: whoever may not have the kernel can still verify it.

The source's digest stays, so digest and signature cover the record alike with and without it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from benchmarks.records.canonical import canonical


def without_source(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with null for the candidate's source; one that has none stays as it is."""
    candidate = record.get("candidate")
    if not isinstance(candidate, dict):
        return dict(record)
    return {**record, "candidate": {**candidate, "source": None}}


def withheld(content: bytes) -> bytes:
    """A record's file without the source. Its digest and signature hold as before."""
    return canonical(without_source(json.loads(content)))
