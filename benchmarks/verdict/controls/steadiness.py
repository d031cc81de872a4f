"""Control: the GPU's clocks were steady in nearly all rounds."""

from collections.abc import Mapping
from typing import Any

from benchmarks.verdict import clocks
from benchmarks.verdict.controls.outcome import Control
from benchmarks.verdict.statistics.exclusions import SIDES, counted_rounds
from benchmarks.verdict.statistics.throttling import names

NAME = "steady clocks"


def judge(record: Mapping[str, Any]) -> Control:
    """Require that at most the sealed share of pairs was discarded."""
    seen = [
        workload["telemetry"][side]
        for replicate in record["replicates"]
        for workload in replicate["workloads"]
        for side in SIDES
        if workload["telemetry"] is not None
    ]
    if not seen:
        why = record["observations"]["gpu"]["why_not"] or "no round was watched"
        return Control(name=NAME, passed=None, detail=why)
    found = counted_rounds(record)
    most = record["benchmark"]["protocol"]["max_discarded"]
    reasons = 0
    for columns in seen:
        for each in columns["throttle"]:
            reasons |= each
    mhz = [each for columns in seen for each in columns["sm_mhz"]]
    heat = [degrees for columns in seen for degrees in columns["temperature_c"]]
    power = [watts for columns in seen for watts in columns["power_w"]]
    paces = clocks.of_baseline(record)
    beside = (
        ""
        if paces is None
        else f"; baseline: {paces.beside_candidate} beside the candidate, {paces.beside_itself} "
        "beside itself"
    )
    detail = (
        f"{found.unsteady} of {found.rounds} pairs discarded; SM {min(mhz)} to {max(mhz)} "
        f"MHz, up to {max(heat)} C and {max(power):.0f} W; "
        f"held down by: {', '.join(names(reasons)) or 'nothing'}{beside}"
    )
    return Control(name=NAME, passed=found.unsteady <= most * found.rounds, detail=detail)
