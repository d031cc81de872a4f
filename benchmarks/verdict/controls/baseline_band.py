"""Control: the baseline runs at its calibrated speed, because a slowed one is a cheap cheat.

`calibrate` stores what is compared here: the mean over processes of their median rounds.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.verdict.controls.outcome import Control
from benchmarks.verdict.statistics import rules
from benchmarks.verdict.statistics.estimates import process_us
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
    usual = process_us if rules.of(record) > 1 else np.mean
    seen, outside = [], []
    for name, replicates in counted_rounds(record).samples.items():
        expected = calibration["baseline_us"][name]
        took = float(np.mean([usual(baseline) for baseline, _ in replicates]))
        text = f"{name}: {took:,.1f} us, calibrated {expected:,.1f} us"
        seen.append(text)
        if abs(took / expected - 1) > band:
            outside.append(text)
    return Control(
        name=NAME, passed=not outside, detail=f"{'; '.join(outside or seen)}; band {band:.0%}"
    )
