"""No side is faster than the machine can move the operator's bytes or do its arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.harness.controls import limits
from benchmarks.harness.controls.outcome import Control
from benchmarks.harness.statistics.exclusions import SIDES, counted

NAME = "no faster than the machine"
# A copy reaches less than reading alone does, and a large square product less than the best
# shape: the machine may be this much faster than the ceilings that were measured.
ALLOWANCE = 1.25
# Below this many last-level caches, bytes may have come from the cache.
_LEAST_CACHES = 4


def judge(record: Mapping[str, Any]) -> Control:
    """Whether every side's mean time of every workload is above the floor."""
    ceilings = record["environment"]["ceilings"]
    costs = record["observations"]["costs"]
    if record["environment"]["device"]["kind"] != "cuda":
        why = "a busy processor's ceilings are no floor: they are measured lower than they are"
        return Control(name=NAME, passed=None, detail=why)
    if ceilings is None or costs is None:
        why = "the machine's ceilings or the operator's costs are not known"
        return Control(name=NAME, passed=None, detail=why)
    samples = counted(record).samples
    under, seen = [], []
    for cost in costs:
        floor = floor_us(cost, ceilings, record["environment"]["device"]["cache_bytes"])
        seen.append(f"{cost['name']}: floor {floor:,.1f} us")
        for side, times in zip(SIDES, zip(*samples[cost["name"]], strict=True), strict=True):
            took = float(np.mean([each.mean() for each in times]))
            if took < floor:
                under.append(
                    f"{cost['name']}: the {side} took {took:,.1f} us, the floor is {floor:,.1f} us"
                )
    return Control(name=NAME, passed=not under, detail="; ".join(under or seen))


def floor_us(
    cost: Mapping[str, Any], ceilings: Mapping[str, Any], cache_bytes: int | None
) -> float:
    """The least time of one end-to-end call, by its operator calls alone, in us."""
    calls = cost["operator_calls"]
    floor_s = calls * cost["flops"] / (ALLOWANCE * limits.fastest_per_s(ceilings))
    if cache_bytes is not None and cost["bytes"] > _LEAST_CACHES * cache_bytes:
        floor_s = max(floor_s, calls * cost["bytes"] / (ALLOWANCE * ceilings["copy_bytes_per_s"]))
    return floor_s * 1e6
