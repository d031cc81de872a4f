"""The shapes of the traffic, a line each with their calls, as facts like those of a log."""

from __future__ import annotations

import csv
import io
import re

from engagements.evidence.readers import EvidenceError, TrafficFacts, read
from engagements.pitch.rules.stated import PitchError

MOST_LINES = 100
LONGEST_SHAPE = 80
_LINE = re.compile(r"(?P<shape>.*[^\s:=])[\s:=]+(?P<calls>\d{1,12})")


def traffic_of(text: str) -> TrafficFacts | None:
    """`8x4096 1200` a line: a shape, and how often it is called. None without a line.

    PitchError for a line without a number.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    if len(lines) > MOST_LINES:
        raise PitchError(f"At most {MOST_LINES} shapes: leave out the rarest, or send the log.")
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(("shape", "count"))
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None or len(match["shape"]) > LONGEST_SHAPE:
            raise PitchError(
                f"“{line[:40]}” is no shape with its calls: write it as in 8x4096 1200."
            )
        writer.writerow((match["shape"], match["calls"]))
    try:
        facts = read(io.BytesIO(table.getvalue().encode()), "the shapes")
    except EvidenceError as error:
        raise PitchError(f"The shapes cannot be counted: {error}.") from error
    assert isinstance(facts, TrafficFacts)
    return facts
