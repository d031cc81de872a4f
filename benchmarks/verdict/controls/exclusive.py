"""Control: no other process computes on the GPU."""

from collections.abc import Mapping
from typing import Any

from benchmarks.verdict.controls.outcome import Control

NAME = "nobody else on the GPU"
# Before the referee's first kernel; a display or a monitor may use a percent or two.
MOST_IDLE_PERCENT = 5


def judge(record: Mapping[str, Any]) -> Control:
    """Require that no foreign process was counted and that the GPU was idle before the run."""
    gpu = record["observations"]["gpu"]
    if gpu["why_not"] is not None:
        return Control(name=NAME, passed=None, detail=gpu["why_not"])
    foreign, idle = gpu["foreign_processes"], gpu["idle_percent"]
    busy = idle is not None and idle > MOST_IDLE_PERCENT
    if foreign is None and not busy:
        before = "" if idle is None else f"; it was {idle}% busy before the run"
        detail = f"the driver does not show this container whose processes it runs{before}"
        return Control(name=NAME, passed=None, detail=detail)
    if foreign:
        detail = f"up to {max(foreign)} processes of others computed on the GPU"
        return Control(name=NAME, passed=max(foreign) == 0 and not busy, detail=detail)
    return Control(name=NAME, passed=not busy, detail=f"{idle}% busy before the run began")
