"""Monitor the GPU during a run, for the controls."""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.harness.devices.telemetry import NoTelemetry, Reading, Telemetry
from benchmarks.harness.failures import Role

# NVML's utilisation covers the last sample period, between 1/6 s and 1 s.
_IDLE_S = 1.1
_COLUMNS = ("sm_mhz", "memory_mhz", "power_w", "temperature_c", "throttle")


class Monitor:
    """Reads telemetry if there is any; `why_not` is the reason if not."""

    def __init__(self, telemetry: Telemetry | NoTelemetry) -> None:
        self._told = None if isinstance(telemetry, NoTelemetry) else telemetry
        self._why_not = telemetry.why if isinstance(telemetry, NoTelemetry) else None
        self._idle_percent: int | None = None
        self._foreign: list[int] = []
        self._ecc_before: int | None = None

    def begin(self) -> None:
        """Read utilisation and the ECC counter before the run's first kernel."""
        if self._told is None:
            return
        time.sleep(_IDLE_S)
        self._idle_percent = self._told.utilization_percent()
        self._ecc_before = self._told.ecc_uncorrected()

    def reading(self) -> Reading | None:
        """Read the telemetry right after a round's clock stops."""
        return None if self._told is None else self._told.read()

    def look_around(self, sides: Iterable[int]) -> None:
        """Count foreign processes on the GPU while the processes `sides` run."""
        listed = None if self._told is None else self._told.processes()
        if listed is None:
            return
        ours = {os.getpid(), *sides}
        # In a container the driver may show no process ids, or those of another namespace. Count
        # only where it shows the referee's own.
        if os.getpid() in listed:
            self._foreign.append(len(set(listed) - ours))

    def as_data(self) -> dict[str, Any]:
        """The record's `observations.gpu`, after the run."""
        after = None if self._told is None else self._told.ecc_uncorrected()
        counted = self._ecc_before is not None and after is not None
        return {
            "why_not": self._why_not,
            "idle_percent": self._idle_percent,
            "foreign_processes": self._foreign or None,
            "ecc_uncorrected": [self._ecc_before, after] if counted else None,
        }


def columns(readings: Mapping[Role, Sequence[Reading | None]]) -> dict[str, Any] | None:
    """Both sides' readings for the record; None without telemetry."""
    if any(reading is None for side in readings.values() for reading in side):
        return None
    return {
        role: {name: [getattr(reading, name) for reading in side] for name in _COLUMNS}
        for role, side in readings.items()
    }
