"""Control: the baseline runs at its calibrated speed, because a slowed one is a cheap cheat."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.verdict.controls.outcome import Control
from benchmarks.verdict.statistics.exclusions import counted_rounds

NAME = "baseline as calibrated"


def judge(record: Mapping[str, Any]) -> Control:
    """Require each workload's baseline time inside the sealed band, on the sealed device."""
    calibration = record["benchmark"]["calibration"]
    if calibration is None:
        return Control(name=NAME, passed=None, detail="the benchmark was sealed uncalibrated")
    here = record["environment"]["device"]["name"]
    if here != calibration["device"]:
        detail = f"calibrated on {calibration['device']}, measured on {here}"
        return Control(name=NAME, passed=False, detail=detail)
    band = calibration["band"]
    seen, outside = [], []
    for name, replicates in counted_rounds(record).samples.items():
        expected = calibration["baseline_us"][name]
        took = float(np.mean([baseline.mean() for baseline, _ in replicates]))
        text = f"{name}: {took:,.1f} us, calibrated {expected:,.1f} us"
        seen.append(text)
        if abs(took / expected - 1) > band:
            outside.append(text)
    return Control(
        name=NAME, passed=not outside, detail=f"{'; '.join(outside or seen)}; band {band:.0%}"
    )
