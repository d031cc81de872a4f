"""When a run is looked at, and how sure each look has to be.

Replicates are added while the target lies inside the interval. Looking again and again at the
same confidence would find `met` too often for a candidate that is exactly at its target. So
the looks are a fixed schedule, and each may spend only a part of the sealed error: the share
of the most replicates that it adds. The parts add up to the whole, so the chance that *any*
interval of the run misses the true ratio stays at most 1 - confidence, however the looks
depend on each other (Bonferroni's bound; a linear spending function in the words of Lan and
DeMets, Discrete sequential boundaries for clinical trials, 1983). That holds for the interval
at which a run stops, too: it is reported as it is, at the look's own, higher level, and is an
interval of the sealed confidence for the run as a whole.

`python -m benchmarks.precision.simulations.interim_looks` counts the errors with and without
the rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def schedule(protocol: Mapping[str, Any]) -> list[int]:
    """After how many replicates the run is looked at; the last is `max_replicates`."""
    first, most, step = (
        protocol["replicates"],
        protocol["max_replicates"],
        protocol["look_every"],
    )
    return [*range(first, most, step), most]


def confidence_at(protocol: Mapping[str, Any], replicates: int, confidence: float) -> float:
    """The level of the interval at the look after `replicates` replicates.

    ValueError when the schedule has no such look.
    """
    looks = schedule(protocol)
    if replicates not in looks:
        raise ValueError(f"no look after {replicates} replicates; there are {looks}")
    before = [0, *looks][looks.index(replicates)]
    return 1 - (1 - confidence) * (replicates - before) / looks[-1]
