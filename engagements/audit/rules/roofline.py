"""The operator's share of the roofline, and the largest possible kernel speedup."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engagements.audit.rules import devices
from engagements.audit.rules.collecting import base_name
from engagements.audit.rules.finding import Source
from engagements.audit.rules.inputs import AuditInputs, Needs
from engagements.audit.rules.selection import Selected, selected
from engagements.evidence.readers.facts import MeasuredKernel
from engagements.evidence.readers.patterns import found_in
from kernels import catalogue

# Below this measured share of the operator's time, the unmeasured rest matters too much.
MEASURED_SHARE = 0.80
# Kernels on these rungs may do the same work with fewer instructions.
LOW_RUNGS = ("naive", "coalesced", "tiled")
SOFT_SHARE = 0.20


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelHeadroom:
    """One measured kernel of the operator: its share of the roofline and its rung.

    `is_soft` when only instruction issue keeps the device busy, on a low rung: fewer instructions
    may do the same work, so its roofline is not a limit.
    """

    name: str
    share_of_operator: float
    roofline_share: float
    bound: str | None
    signature: str | None
    is_soft: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class FewerBytes:
    """Time per call at the Definition's least bytes and operations.

    `floor_us` is the time at the device's peak rates, `call_us` the present time. `moved_bytes` is
    the present memory traffic, None when not measured.
    """

    moved_bytes: float | None
    least_bytes: float
    call_us: float
    floor_us: float
    kernel_speedup: float


@dataclass(frozen=True, kw_only=True)
class Headroom:
    """Headroom of the operator's kernel.

    `share` is its share of the roofline with its present bytes and operations; `fewer_bytes` is the
    estimate with the least bytes and operations. Either is None when unknown. `measured` is the
    share of the operator's time in `kernels`; `are_alike` when these are kernels of the same kind
    under other names.
    """

    share: float | None
    kernels: tuple[KernelHeadroom, ...]
    measured: float
    fewer_bytes: FewerBytes | None
    sources: tuple[Source, ...]
    are_alike: bool = False

    @property
    def most(self) -> float | None:
        """The largest possible kernel speedup; None when neither estimate is known."""
        found = [1 / self.share] if self.share else []
        if self.fewer_bytes is not None:
            found.append(self.fewer_bytes.kernel_speedup)
        return max(found) if found else None

    @property
    def is_soft(self) -> bool:
        """Whether most of the operator's time is in kernels that could need fewer instructions.

        The roofline does not limit such kernels. Always False when the least bytes and operations
        are known, because they are the limit then.
        """
        soft = sum(kernel.share_of_operator for kernel in self.kernels if kernel.is_soft)
        return self.fewer_bytes is None and soft >= SOFT_SHARE

    @property
    def effective_share(self) -> float | None:
        """The present kernel's share of the roofline of the best known algorithm."""
        return 1 / self.most if self.most else None


def headroom(inputs: AuditInputs) -> Headroom:
    """Compute the operator's headroom from Nsight Compute exports, bytes and operations."""
    found = selected(inputs)
    kernels, sources, measured = _measured(inputs, found)
    share: float | None = None
    if kernels and measured >= MEASURED_SHARE:
        weight = sum(kernel.share_of_operator for kernel in kernels)
        share = sum(k.share_of_operator * k.roofline_share for k in kernels) / weight
    elif inputs.roofline_share is not None:
        share, sources = inputs.roofline_share.value, (*sources, inputs.roofline_share.source)
    fewer = _fewer_bytes(inputs, found)
    if fewer is not None and inputs.needs is not None:
        sources = (*sources, inputs.needs.source)
    return Headroom(
        share=share,
        kernels=kernels,
        measured=measured,
        fewer_bytes=fewer,
        sources=tuple(dict.fromkeys(sources)),
        are_alike=_are_alike(kernels, found),
    )


def measured_kernels(
    inputs: AuditInputs, found: Selected | None
) -> list[tuple[MeasuredKernel, Source]]:
    """Return the launches measured with Nsight Compute that belong to the operator."""
    every = [
        (kernel, known.source)
        for known in inputs.compute
        for kernel in known.value.kernels
        if kernel.duration_us and kernel.roofline_share
    ]
    pattern = inputs.operator.pattern if inputs.operator else None
    if pattern is not None:
        found_names = found_in((kernel.name for kernel, _ in every), pattern)
        return [pair for pair in every if pair[0].name in found_names]
    if found is None:
        return every
    names = {base_name(kernel.name) for kernel in found.kernels}
    wanted = found.operator.pattern
    return [
        pair
        for pair in every
        if base_name(pair[0].name) in names or (wanted and re.search(wanted, pair[0].name))
    ]


def _measured(
    inputs: AuditInputs, found: Selected | None
) -> tuple[tuple[KernelHeadroom, ...], tuple[Source, ...], float]:
    """Return the operator's kernels by name with headroom, files and their share of its time."""
    launches = measured_kernels(inputs, found)
    by_name: dict[str, list[MeasuredKernel]] = {}
    for kernel, _ in launches:
        by_name.setdefault(base_name(kernel.name), []).append(kernel)
    weights, measured = _weights(by_name, found)
    kernels = []
    for name, same in by_name.items():
        times = [kernel.duration_us or 0.0 for kernel in same]
        shares = [kernel.roofline_share or 0.0 for kernel in same]
        longest = max(same, key=lambda kernel: kernel.duration_us or 0.0)
        kernels.append(
            KernelHeadroom(
                name=longest.name,
                share_of_operator=weights[name],
                roofline_share=sum(t * s for t, s in zip(times, shares, strict=True)) / sum(times),
                bound=longest.bound,
                signature=longest.signature,
                is_soft=_is_soft(longest),
            )
        )
    kernels.sort(key=lambda kernel: -kernel.share_of_operator)
    return tuple(kernels), tuple(dict.fromkeys(source for _, source in launches)), measured


def _weights(
    by_name: dict[str, list[MeasuredKernel]], found: Selected | None
) -> tuple[dict[str, float], float]:
    """Return each kernel's share of the operator's time from the trace, else from the launches."""
    durations = {
        name: sum(kernel.duration_us or 0.0 for kernel in same) for name, same in by_name.items()
    }
    in_trace: dict[str, float] = {}
    for kernel in found.kernels if found else ():
        name = base_name(kernel.name)
        in_trace[name] = in_trace.get(name, 0.0) + kernel.gpu_ms
    total = sum(in_trace.values())
    known = {name: in_trace.get(name, 0.0) for name in by_name}
    if total and sum(known.values()):
        weights = {name: time / total for name, time in known.items()}
        return weights, sum(weights.values())
    # No kernel name occurs in both files: use the launches as the operator.
    everything = sum(durations.values())
    return {name: time / everything for name, time in durations.items()}, 1.0 if by_name else 0.0


def _are_alike(kernels: tuple[KernelHeadroom, ...], found: Selected | None) -> bool:
    """Return whether the profile has the operator's kernels but none of these names."""
    in_trace = {base_name(kernel.name) for kernel in found.kernels} if found else set()
    return bool(in_trace and kernels) and in_trace.isdisjoint(base_name(k.name) for k in kernels)


def _is_soft(kernel: MeasuredKernel) -> bool:
    """Return whether only instruction issue is busy, on a low rung."""
    busiest = max(kernel.dram_share or 0.0, kernel.tensor_share or 0.0)
    return kernel.signature in LOW_RUNGS and busiest < (kernel.sm_share or 0.0)


def _fewer_bytes(inputs: AuditInputs, found: Selected | None) -> FewerBytes | None:
    """Compute the time per call at the Definition's least bytes and operations on this device."""
    needs = inputs.needs.value if inputs.needs else None
    device = _device(inputs, needs)
    launches = [kernel for kernel, _ in measured_kernels(inputs, found)]
    longest = max(launches, key=lambda kernel: kernel.duration_us or 0.0, default=None)
    call_us = (found.call_us if found else None) or (longest.duration_us if longest else None)
    if needs is None or device is None or not call_us or not needs.dtype or not needs.axes:
        return None
    operations_per_s = device.operations_per_s.get(needs.dtype)
    if operations_per_s is None or needs.definition not in catalogue.operators():
        return None
    try:
        least = catalogue.bytes_moved(needs.definition, needs.axes, needs.dtype)
        operations = catalogue.flops(needs.definition, needs.axes)
    except KeyError:
        # An axis is missing, or the operator does not support this dtype.
        return None
    floor_us = max(least / device.bytes_per_s, operations / operations_per_s) * 1e6
    return FewerBytes(
        moved_bytes=longest.dram_bytes if longest else None,
        least_bytes=float(least),
        call_us=call_us,
        floor_us=floor_us,
        kernel_speedup=max(1.0, call_us / floor_us),
    )


def _device(inputs: AuditInputs, needs: Needs | None) -> devices.Peak | None:
    names = [device.name for device in inputs.trace.value.devices] if inputs.trace else []
    known = next((peak for name in names if (peak := devices.peak(name))), None)
    return known or devices.peak(needs.device if needs else None)
