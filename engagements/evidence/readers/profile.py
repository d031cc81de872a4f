"""A recording as arrays, cut to its window."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from engagements.evidence.readers import attribution, intervals, recording
from engagements.evidence.readers.arrays import Flags, Floats, Integers
from engagements.evidence.readers.facts import Window
from engagements.evidence.readers.recording import Recording
from engagements.evidence.readers.window import Steps, steps_of, window_of


@dataclass
class Profile:
    """A recording as arrays, cut to its window. Rows are device operations."""

    recorded: Recording

    def __post_init__(self) -> None:
        columns = self.recorded.operations
        self.starts: Floats = np.frombuffer(columns.starts)
        self.ends: Floats = np.frombuffer(columns.ends)
        self.kinds = np.frombuffer(columns.kinds, dtype=np.int8)
        self.names = np.frombuffer(columns.names, dtype=np.int32)
        self.devices = np.frombuffer(columns.devices, dtype=np.int32)
        self.streams = np.frombuffer(columns.streams, dtype=np.int32)
        self.call = attribution.call_of_operations(columns, self.recorded.calls)
        calls = np.frombuffer(self.recorded.calls.starts)
        has_call = self.call >= 0
        self.launched = np.full(len(self.starts), np.nan)
        self.launched[has_call] = calls[self.call[has_call]]
        self.steps: Steps = steps_of(self.recorded)
        self.window: Window = window_of(self.recorded, self.steps, self.ends, self.launched)
        low, high = self.window.start_us, self.window.end_us
        self.inside: Flags = (self.ends > low) & (self.starts < high) | (
            (self.starts == self.ends) & (self.starts >= low) & (self.starts <= high)
        )
        self.starts, self.ends = intervals.clipped(self.starts, self.ends, low, high)

    @cached_property
    def wall_us(self) -> float:
        """Length of the window in microseconds."""
        return self.window.end_us - self.window.start_us

    @cached_property
    def busy(self) -> tuple[Floats, Floats]:
        """Ordered disjoint intervals in which any device was busy."""
        return intervals.merged(self.starts[self.inside], self.ends[self.inside])

    @cached_property
    def busy_us(self) -> float:
        """Time in which any device was busy, in microseconds."""
        return float(np.sum(self.busy[1] - self.busy[0]))

    @property
    def is_kernel(self) -> Flags:
        """Mask of the rows that are kernels inside the window."""
        return self.inside & (self.kinds == recording.KERNEL)

    def time(self, rows: Integers) -> dict[str, Any]:
        """Compute the fields of a `Time` from these rows."""
        starts, ends = self.starts[rows], self.ends[rows]
        busy_us = intervals.covered(starts, ends)
        return {
            "calls": len(rows),
            "gpu_ms": float(np.sum(ends - starts)) / 1e3,
            "busy_ms": busy_us / 1e3,
            "share_of_gpu": busy_us / self.busy_us if self.busy_us else 0.0,
            "share_of_wall": busy_us / self.wall_us if self.wall_us else 0.0,
        }
