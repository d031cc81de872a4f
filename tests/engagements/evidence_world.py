"""Evidence for the tests of pages: captures of a real device, kept and read as a worker would."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from engagements.audit import subjects
from engagements.engagement.models import Engagement
from engagements.evidence import readers as reading
from engagements.evidence import reading as evidence_reading
from engagements.evidence import services as evidence
from engagements.evidence.models import Evidence
from engagements.evidence.readers import EvidenceError, Facts
from engagements.people.models import User

CAPTURES = Path(__file__).resolve().parent / "evidence" / "captures"
DECODE = "h200_llama_decode_32k_prefix.trace.json.gz"
IDLE = "idle_gpu.trace.json.gz"
PREFILL = "prefill.trace.json.gz"
COMPUTE = "h200_ncu_raw.csv"
TRAFFIC = b"batch,length,count,duration_us\n" + b"".join(
    b"%d,%d,%d,%d\n" % (1 << (n % 5), 512 * (1 + n), 4000 >> n, 100 + 30 * n) for n in range(12)
)


def add(engagement: Engagement, by: User, name: str, content: bytes | None = None) -> Evidence:
    """Keep a capture of this name, or other bytes; they wait to be read."""
    held = (CAPTURES / name).read_bytes() if content is None else content
    return evidence.add(engagement=engagement, name=name, content=io.BytesIO(held), by=by)


def read(row: Evidence) -> Evidence:
    """Have it read now as a worker would, only not in a process of its own, and each file once."""
    with mock.patch.object(evidence_reading.confined, "read", _read_here):
        evidence_reading.read(evidence_id=row.pk, patterns_of=subjects.patterns_of)
    row.refresh_from_db()
    return row


def added(engagement: Engagement, by: User, name: str, content: bytes | None = None) -> Evidence:
    """Kept and read."""
    return read(add(engagement, by, name, content))


def _read_here(
    file: Path, name: str = "", *, patterns: dict[str, str] | None = None, **_: Any
) -> Facts:
    found = _facts(file.read_bytes(), name, tuple((patterns or {}).items()))
    if isinstance(found, EvidenceError):
        raise found
    return found


@cache
def _facts(
    content: bytes, name: str, patterns: tuple[tuple[str, str], ...]
) -> Facts | EvidenceError:
    try:
        return reading.read(io.BytesIO(content), name, patterns=dict(patterns))
    except EvidenceError as error:
        return error
