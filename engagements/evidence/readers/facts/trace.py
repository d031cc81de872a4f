"""Facts of a timeline of a program. Times are milliseconds unless the name says otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from engagements.evidence.readers import patterns

# Groupings by the trace, and by patterns of the caller.
FoundKind = Literal["family", "range", "module"]
GroupKind = Literal[FoundKind, "pattern"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Time:
    """Device time inside the window.

    `gpu_ms` adds up every call. `busy_ms` counts overlapping calls once; the shares are of it:
    `share_of_gpu` of the time in which any device was busy, `share_of_wall` of the window, so
    share_of_wall = share_of_gpu * gpu_busy_share.
    """

    name: str
    calls: int
    gpu_ms: float
    busy_ms: float
    share_of_gpu: float
    share_of_wall: float


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelTime(Time):
    """One kernel by its full name."""

    family: str
    mean_us: float


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupTime(Time):
    """A group of kernels; `kernels` names the longest of them.

    kind: family (by name pattern, the expression in `pattern`), range (launched inside an NVTX
    range or record_function of this name), module (launched inside an nn.Module of this name),
    or pattern (asked for by the caller). Copies and memsets are families, no kernels.
    """

    kind: GroupKind
    pattern: str | None = None
    kernels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceTime:
    """A device. `name` is None when the file has none."""

    device: int
    name: str | None
    streams: int
    busy_ms: float
    busy_share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTime:
    """One step: the annotation's own span on the host, `start_ms` after the window's start."""

    name: str
    start_ms: float
    wall_ms: float
    gpu_busy_share: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """The window of wall-clock time. kind: steps (ProfilerStep# and similar) or recorded."""

    kind: Literal["steps", "recorded"]
    definition: str
    start_us: float
    end_us: float
    steps: int


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelLane:
    """A kernel over the window: busy share and calls begun, in the buckets that have either."""

    buckets: tuple[int, ...]
    busy: tuple[float, ...]
    calls: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline:
    """Busy share of each bucket by kernel family, overlap counted once.

    `kernels` are those of the first kernels of the profile, in its order.
    """

    bucket_ms: float
    busy: tuple[float, ...]
    families: dict[str, tuple[float, ...]]
    kernels: tuple[KernelLane, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class GapLengths:
    """Gaps of up to `up_to_us` and longer than the bucket before; None is any length."""

    up_to_us: float | None
    count: int
    ms: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Gaps:
    """Gaps inside the window in which no device was busy.

    `launch_bound_share` is the share of wall time in gaps whose next operation was not even
    launched when the gap began: the device waited for the host. None without launch records.
    """

    count: int
    idle_ms: float
    median_us: float | None
    longest_us: float | None
    by_length: tuple[GapLengths, ...]
    launch_bound_share: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Launches:
    """Launches of device work. `calls` are launches by the host; a CUDA graph counts as one.

    `graph_kernel_share` is the share of kernel executions that came from CUDA graphs, None
    where launches were not recorded. `host_ms` is time inside launch calls, `sync_ms` time in
    which a host thread waited for a device, both added up over threads.
    """

    kernels: int
    mean_kernel_us: float | None
    median_kernel_us: float | None
    short_kernel_share: float | None
    calls: int | None
    graph_calls: int | None
    graph_kernel_share: float | None
    host_ms: float | None
    sync_ms: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceFacts:
    """A timeline of a program, from the PyTorch profiler or from Nsight Systems.

    `wall_ms` is the length of `window`. `gpu_busy_share` is the union of the intervals of all
    device operations (kernels, copies, memsets; of all streams and devices) over it; None when
    the file holds no device operation, which then was not recorded.
    `copy_share` and `communication_share` are shares of wall of copies and memsets, and of
    collective kernels (NCCL and the like). `kernels_left_out` counts the names that the list
    has no room for.
    """

    format: Literal["chrome_trace", "nsight_systems"]
    producer: str
    events: int
    window: Window
    wall_ms: float
    gpu_busy_ms: float | None
    gpu_busy_share: float | None
    gpu_idle_share: float | None
    kernels: tuple[KernelTime, ...]
    kernels_left_out: int
    families: tuple[GroupTime, ...]
    ranges: tuple[GroupTime, ...]
    modules: tuple[GroupTime, ...]
    patterns: tuple[GroupTime, ...]
    devices: tuple[DeviceTime, ...]
    steps: tuple[StepTime, ...]
    timeline: Timeline | None
    gaps: Gaps | None
    launches: Launches
    copy_share: float | None
    communication_share: float | None
    overlap_ms: float
    warnings: tuple[str, ...]

    def share_of_wall(self, pattern: str) -> tuple[float, float]:
        """Bound the share of wall of the kernels whose name contains `pattern`.

        Both bounds are equal where no two different kernels overlap.
        """
        names = patterns.found_in((kernel.name for kernel in self.kernels), pattern)
        found = [kernel.busy_ms for kernel in self.kernels if kernel.name in names]
        if not found or self.wall_ms <= 0:
            return 0.0, 0.0
        most = min(sum(found), self.gpu_busy_ms or 0.0)
        least = min(most, max(max(found), sum(found) - self.overlap_ms))
        return least / self.wall_ms, most / self.wall_ms

    def shown(self) -> dict[str, Any]:
        """Data of `manage.py evidence show --json`."""
        names = ("name", "calls", "gpu_ms", "share_of_gpu", "share_of_wall")
        return {
            "format": self.format,
            "wall_ms": self.wall_ms,
            "gpu_busy_share": self.gpu_busy_share,
            "gpu_idle_share": self.gpu_idle_share,
            "kernels": [{name: getattr(row, name) for name in names} for row in self.kernels],
            "warnings": list(self.warnings),
        }
