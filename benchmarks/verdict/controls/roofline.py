"""Control: no side is faster than the machine's bandwidth and arithmetic allow."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.verdict.controls import limits
from benchmarks.verdict.controls.outcome import Control
from benchmarks.verdict.statistics.exclusions import SIDES, counted_rounds

NAME = "no faster than the machine"
# A copy is slower than reads alone, and a large square product slower than the best shape, so the
# machine may exceed its measured ceilings by this factor.
ALLOWANCE = 1.25
# Below this many last-level caches, data may come from the cache.
_LEAST_CACHES = 4


def judge(record: Mapping[str, Any]) -> Control:
    """Require every side's mean time of every workload above the roofline floor."""
    ceilings = record["environment"]["ceilings"]
    costs = record["observations"]["costs"]
    if record["environment"]["device"]["kind"] != "cuda":
        why = "a busy processor's ceilings are no floor: they are measured lower than they are"
        return Control(name=NAME, passed=None, detail=why)
    if ceilings is None or costs is None or any(cost["flops"] is None for cost in costs):
        why = "the machine's ceilings or the operator's costs are not known"
        return Control(name=NAME, passed=None, detail=why)
    samples = counted_rounds(record).samples
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
    """The least time of one end-to-end call, counting only its operator calls, in us."""
    calls = cost["operator_calls"]
    floor_s = calls * cost["flops"] / (ALLOWANCE * limits.fastest_per_s(ceilings))
    if cache_bytes is not None and cost["bytes"] > _LEAST_CACHES * cache_bytes:
        floor_s = max(floor_s, calls * cost["bytes"] / (ALLOWANCE * ceilings["copy_bytes_per_s"]))
    return floor_s * 1e6
