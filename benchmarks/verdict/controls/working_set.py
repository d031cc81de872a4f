"""Control: the working set exceeds the last-level cache, so that it is cold for both sides."""

from collections.abc import Mapping
from typing import Any

from benchmarks.verdict.controls.outcome import Control

NAME = "working set outgrows the cache"
LEAST_CACHES = 3


def judge(record: Mapping[str, Any]) -> Control:
    """Pass from LEAST_CACHES caches on; below, the control is not applicable."""
    cache = record["environment"]["device"]["cache_bytes"]
    if cache is None:
        return Control(name=NAME, passed=None, detail="the size of the cache is not known")
    small, seen = [], []
    for replicate in record["replicates"][:1]:
        for workload in replicate["workloads"]:
            caches = workload["working_set_bytes"] / cache
            text = f"{workload['name']}: {caches:.1f} times the cache"
            seen.append(text)
            if caches < LEAST_CACHES:
                small.append(text)
    if small:
        detail = f"{'; '.join(small)}: its times are those of a warm cache, on both sides"
        return Control(name=NAME, passed=None, detail=detail)
    return Control(name=NAME, passed=True, detail="; ".join(seen))
