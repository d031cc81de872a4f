"""Control: the candidate's source stays in its slot.

What its process changed outside the slot disqualifies at once (finding `program`). What the source
alone shows may be harmless, so it makes the run invalid unless the sealed protocol allows it.
"""

from collections.abc import Mapping
from typing import Any

from benchmarks.verdict.controls.outcome import Control

NAME = "candidate stays in its slot"


def judge(record: Mapping[str, Any]) -> Control:
    """Require that the source does nothing outside the slot but what the protocol allows."""
    reach = record["observations"].get("reach")
    if reach is None:
        return Control(name=NAME, passed=None, detail="the source was not searched")
    allowed = record["benchmark"]["protocol"]["allowed_reach"]
    outside = [each for each in reach["patches"] if each not in allowed]
    listed = f"imports {', '.join(reach['imports']) or 'nothing more'}"
    detail = f"the source {'; '.join(outside)}" if outside else listed
    return Control(name=NAME, passed=not outside, detail=detail)
