"""Compute the facts of a recording: busy times, gaps and launches."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engagements.evidence.readers import families, gaps, grouping, intervals, limits, recording
from engagements.evidence.readers.arrays import Floats, Integers, rows_by
from engagements.evidence.readers.facts import (
    DeviceTime,
    Gaps,
    KernelLane,
    KernelTime,
    Launches,
    StepTime,
    Timeline,
    TraceFacts,
)
from engagements.evidence.readers.profile import Profile
from engagements.evidence.readers.recording import Recording

SHORT_KERNEL_US = 5.0


def summarise(recorded: Recording, patterns: Mapping[str, str] | None = None) -> TraceFacts:
    """Compute the facts; `patterns` are regular expressions of kernel groups by name."""
    profile = Profile(recorded)
    has_operations = bool(profile.inside.any())
    by_name = rows_by(profile.names, np.flatnonzero(profile.is_kernel))
    kernels = grouping.kernels_of(profile, by_name)
    listed = kernels[: limits.LISTED_KERNELS]
    groups = grouping.families_of(profile, by_name)
    shares = {group.name: group.share_of_wall for group in groups}
    ranges, modules = grouping.ranges_of(profile)
    busy_share = profile.busy_us / profile.wall_us if profile.wall_us else None
    copies = [shares[name] for name in (families.COPY, families.MEMSET) if name in shares]
    _warn(profile, len(kernels))
    return TraceFacts(
        format=recorded.format,
        producer=recorded.producer,
        events=recorded.events,
        window=profile.window,
        wall_ms=profile.wall_us / 1e3,
        gpu_busy_ms=profile.busy_us / 1e3 if has_operations else None,
        gpu_busy_share=busy_share if has_operations else None,
        gpu_idle_share=_rest(busy_share) if has_operations else None,
        kernels=tuple(listed),
        kernels_left_out=len(kernels) - len(listed),
        families=groups,
        ranges=ranges,
        modules=modules,
        patterns=grouping.patterns_of(profile, by_name, patterns or {}),
        devices=_devices(profile),
        steps=_steps(profile, has_operations),
        timeline=_timeline(profile, by_name, kernels) if has_operations else None,
        gaps=_gaps(profile) if has_operations else None,
        launches=_launches(profile),
        copy_share=sum(copies) if has_operations else None,
        communication_share=shares.get(families.COMMUNICATION, 0.0) if has_operations else None,
        overlap_ms=_overlap_ms(profile, kernels),
        warnings=tuple(recorded.warnings),
    )


def _gaps(profile: Profile) -> Gaps:
    busy, window = profile.busy, profile.window
    return gaps.measure(busy, window, profile.launched, profile.starts, profile.inside)


def _rest(share: float | None) -> float | None:
    return None if share is None else 1.0 - share


def _devices(profile: Profile) -> tuple[DeviceTime, ...]:
    devices = []
    for device, rows in rows_by(profile.devices, np.flatnonzero(profile.inside)).items():
        busy_us = intervals.covered(profile.starts[rows], profile.ends[rows])
        devices.append(
            DeviceTime(
                device=device,
                name=profile.recorded.device_names.get(device),
                streams=len(np.unique(profile.streams[rows])),
                busy_ms=busy_us / 1e3,
                busy_share=busy_us / profile.wall_us if profile.wall_us else 0.0,
            )
        )
    return tuple(devices[:1024])


def _steps(profile: Profile, has_operations: bool) -> tuple[StepTime, ...]:
    """Return each step's span and its GPU busy share."""
    steps = []
    for name, start, end in zip(
        profile.steps.names[: limits.LISTED_STEPS],
        profile.steps.starts.tolist(),
        profile.steps.ends.tolist(),
        strict=False,
    ):
        busy = intervals.covered_by_bucket(*profile.busy, np.array([start, end]))
        share = float(busy[0]) / (end - start) if has_operations and end > start else None
        start_ms = (start - profile.window.start_us) / 1e3
        wall_ms = (end - start) / 1e3
        steps.append(StepTime(name=name, start_ms=start_ms, wall_ms=wall_ms, gpu_busy_share=share))
    return tuple(steps)


def _timeline(
    profile: Profile, by_name: Mapping[int, Integers], kernels: list[KernelTime]
) -> Timeline | None:
    if profile.wall_us <= 0:
        return None
    edges = np.linspace(profile.window.start_us, profile.window.end_us, limits.TIMELINE_BUCKETS + 1)
    bucket_us = profile.wall_us / limits.TIMELINE_BUCKETS

    def shares(starts: Floats, ends: Floats) -> tuple[float, ...]:
        covered = intervals.covered_by_bucket(*intervals.merged(starts, ends), edges)
        return tuple(np.round(covered / bucket_us, 4).tolist())

    return Timeline(
        bucket_ms=bucket_us / 1e3,
        busy=shares(*profile.busy),
        families={
            name: shares(profile.starts[rows], profile.ends[rows])
            for name, rows in grouping.family_rows(profile, by_name).items()
        },
        kernels=_kernel_lanes(profile, by_name, kernels, edges),
    )


def _kernel_lanes(
    profile: Profile,
    by_name: Mapping[int, Integers],
    kernels: list[KernelTime],
    edges: Floats,
) -> tuple[KernelLane, ...]:
    rows_of = {profile.recorded.names.texts[number]: rows for number, rows in by_name.items()}
    lanes = []
    for kernel in kernels[: limits.TIMELINE_KERNELS]:
        rows = rows_of[kernel.name]
        starts, ends = profile.starts[rows], profile.ends[rows]
        busy = intervals.covered_by_bucket(*intervals.merged(starts, ends), edges)
        calls, _ = np.histogram(starts, edges)
        used = np.flatnonzero((busy > 0) | (calls > 0))
        lanes.append(
            KernelLane(
                buckets=tuple(used.tolist()),
                busy=tuple(np.round(busy[used] / (edges[1] - edges[0]), 4).tolist()),
                calls=tuple(calls[used].tolist()),
            )
        )
    return tuple(lanes)


def _launches(profile: Profile) -> Launches:
    recorded = profile.recorded
    rows = profile.is_kernel
    lengths = (profile.ends - profile.starts)[rows]
    has_any = len(lengths) > 0
    kinds = np.frombuffer(recorded.calls.kinds, dtype=np.int8)
    starts = np.frombuffer(recorded.calls.starts)
    ends = np.frombuffer(recorded.calls.ends)
    inside = (starts >= profile.window.start_us) & (starts <= profile.window.end_us)
    known = profile.call[rows & (profile.call >= 0)]
    graphs = float(np.mean(kinds[known] == recording.GRAPH_LAUNCH)) if len(known) else None
    has_calls = recorded.has_calls
    return Launches(
        kernels=len(lengths),
        mean_kernel_us=float(np.mean(lengths)) if has_any else None,
        median_kernel_us=float(np.median(lengths)) if has_any else None,
        short_kernel_share=float(np.mean(lengths < SHORT_KERNEL_US)) if has_any else None,
        calls=int(np.sum(inside)) if has_calls else None,
        graph_calls=int(np.sum(inside & (kinds == recording.GRAPH_LAUNCH))) if has_calls else None,
        graph_kernel_share=graphs,
        host_ms=float(np.sum((ends - starts)[inside])) / 1e3 if has_calls else None,
        sync_ms=recorded.synced_us / 1e3 if has_calls else None,
    )


def _overlap_ms(profile: Profile, kernels: list[KernelTime]) -> float:
    """Return the sum of the kernels' times less the time they cover."""
    rows = profile.is_kernel
    covered_ms = intervals.covered(profile.starts[rows], profile.ends[rows]) / 1e3
    return max(0.0, sum(kernel.busy_ms for kernel in kernels) - covered_ms)


def _warn(profile: Profile, kernels: int) -> None:
    recorded = profile.recorded
    if not len(profile.starts):
        said = (
            "Kernels were launched, but"
            if len(recorded.calls.starts)
            else "Nothing ran on a GPU, or"
        )
        recorded.warn(
            f"The profile has no device operations. {said} device activity was not recorded."
        )
    elif not profile.inside.any():
        recorded.warn("The steps have no device operations.")
    elif not recorded.has_calls:
        recorded.warn("Launches by the host were not recorded: ranges and launch gaps are unknown.")
    if recorded.names.is_full:
        recorded.warn("The profile has too many different names; some are counted together.")
    if kernels > limits.LISTED_KERNELS:
        recorded.warn(f"Of {kernels:,} kernels the {limits.LISTED_KERNELS:,} longest are listed.")
    if profile.wall_us <= 0:
        recorded.warn("The window has no length, so shares are unknown.")
