"""Schedule interim looks at a run, and the confidence of each.

Replicates are added while the target lies inside the interval. Repeated looks at the same
confidence would find `met` too often for a candidate exactly at its target. So the looks follow a
fixed schedule, and each spends the share of the sealed error that its new replicates are of the
maximum (a linear spending function; Lan and DeMets, Discrete sequential boundaries for clinical
trials, 1983). By Bonferroni's bound, the chance that any interval of the run misses the true ratio
stays at most 1 - confidence. The interval at which a run stops therefore holds at the sealed
confidence for the whole run.

`python -m benchmarks.precision.simulations.interim_looks` counts the errors with and without the
rule.
"""

from collections.abc import Mapping
from typing import Any


def schedule(protocol: Mapping[str, Any]) -> list[int]:
    """The numbers of replicates after which to look; the last is `max_replicates`."""
    first, most, step = (protocol["replicates"], protocol["max_replicates"], protocol["look_every"])
    return [*range(first, most, step), most]


def confidence_at(protocol: Mapping[str, Any], replicates: int, confidence: float) -> float:
    """The confidence level of the look after `replicates` replicates.

    Raises ValueError when the schedule has no such look.
    """
    looks = schedule(protocol)
    if replicates not in looks:
        raise ValueError(f"no look after {replicates} replicates; there are {looks}")
    before = [0, *looks][looks.index(replicates)]
    return 1 - (1 - confidence) * (replicates - before) / looks[-1]
