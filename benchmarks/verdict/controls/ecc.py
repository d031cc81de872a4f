"""Control: no uncorrected memory errors during the run."""

from collections.abc import Mapping
from typing import Any

from benchmarks.verdict.controls.outcome import Control

NAME = "no uncorrected memory errors"


def judge(record: Mapping[str, Any]) -> Control:
    """Require an unchanged counter of uncorrected errors."""
    gpu = record["observations"]["gpu"]
    if gpu["why_not"] is not None:
        return Control(name=NAME, passed=None, detail=gpu["why_not"])
    if gpu["ecc_uncorrected"] is None:
        return Control(name=NAME, passed=None, detail="the GPU does not count them")
    before, after = gpu["ecc_uncorrected"]
    detail = f"{before} before the run, {after} after it"
    return Control(name=NAME, passed=after == before, detail=detail)
