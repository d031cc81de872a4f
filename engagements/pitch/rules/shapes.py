"""Parse typed shapes, one per line with its calls, into the facts of a traffic log."""

from __future__ import annotations

import csv
import io
import re

from engagements.common.errors import ApplicationError
from engagements.evidence.readers import EvidenceError, TrafficFacts, read

MOST_LINES = 100
LONGEST_SHAPE = 80
_LINE = re.compile(r"(?P<shape>.*[^\s:=])[\s:=]+(?P<calls>\d{1,12})")


def traffic_of(text: str) -> TrafficFacts | None:
    """Parse lines such as `8x4096 1200`: a shape and its number of calls. None without lines.

    ApplicationError for a line without a number.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    if len(lines) > MOST_LINES:
        raise ApplicationError(
            f"Enter at most {MOST_LINES} shapes, or upload the log.", code="pitch.too_many_shapes"
        )
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(("shape", "count"))
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None or len(match["shape"]) > LONGEST_SHAPE:
            raise ApplicationError(
                f"Replace “{line[:40]}” by a shape and its calls, such as 8x4096 1200.",
                code="pitch.shape",
            )
        writer.writerow((match["shape"], match["calls"]))
    try:
        facts = read(io.BytesIO(table.getvalue().encode()), "the shapes")
    except EvidenceError as error:
        raise ApplicationError(f"Invalid shapes: {error}.", code="pitch.shape") from error
    assert isinstance(facts, TrafficFacts)
    return facts
