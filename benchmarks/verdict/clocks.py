"""The GPU's clocks and power in the baseline's rounds, beside the candidate and beside itself.

The A/A pair runs after the candidate has ended. A candidate that heats the GPU, or exhausts its
power budget, lowers the clocks of the baseline's rounds and raises its own ratio. Power itself is
reported, not judged: NVML's reading is the mean of a second, in which both sides ran.
"""

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_SIDES = ("baseline", "candidate")


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Medians over rounds: clocks in MHz, power in W."""

    sm_mhz: float
    memory_mhz: float
    power_w: float

    def __str__(self) -> str:
        return f"{self.sm_mhz:.0f} MHz and {self.power_w:.0f} W"


@dataclass(frozen=True, kw_only=True)
class Paces:
    """The baseline's pace beside the candidate and in the A/A pair."""

    beside_candidate: Pace
    beside_itself: Pace

    @property
    def slower(self) -> float:
        """How much lower its clocks were beside the candidate, as a share; 0 if they were not."""
        pairs = (
            (self.beside_itself.sm_mhz, self.beside_candidate.sm_mhz),
            (self.beside_itself.memory_mhz, self.beside_candidate.memory_mhz),
        )
        return max(0.0, *(alone / beside - 1 for alone, beside in pairs if beside))


def of_baseline(record: Mapping[str, Any]) -> Paces | None:
    """The baseline's paces at the A/A pair's workload; None without telemetry of both."""
    pair = record["observations"]["same_code"]
    if pair is None or pair.get("telemetry") is None:
        return None
    beside = [
        workload["telemetry"]["baseline"]
        for replicate in record["replicates"]
        for workload in replicate["workloads"]
        if workload["name"] == pair["name"] and workload["telemetry"] is not None
    ]
    if not beside:
        return None
    return Paces(
        beside_candidate=_pace(beside),
        beside_itself=_pace([pair["telemetry"][side] for side in _SIDES]),
    )


def _pace(columns: list[Mapping[str, Any]]) -> Pace:
    medians = {
        name: statistics.median([value for each in columns for value in each[name]])
        for name in ("sm_mhz", "memory_mhz", "power_w")
    }
    return Pace(**medians)
