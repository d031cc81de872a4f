"""Sentences about the operator's share of the roofline, for engineers."""

from __future__ import annotations

from engagements.audit.rules import collecting, roofline
from engagements.audit.rules.ceiling import CeilingFigures
from engagements.audit.rules.phrases import percent, times, times_each, volume
from engagements.audit.rules.roofline import Headroom


def about(room: Headroom, figures: CeilingFigures) -> list[str]:
    """Describe the measured kernels and the estimate with the least bytes."""
    lines = []
    for kernel in room.kernels[:3]:
        bound = f", bound by {kernel.bound}" if kernel.bound else ""
        lines.append(
            f"{collecting.base_name(kernel.name)} runs at {percent(kernel.roofline_share)} of the "
            f"roofline{bound}."
        )
    if room.are_alike:
        lines.append(
            "The profile has none of these kernel names; they are used as kernels of the same kind."
        )
    if room.kernels and room.measured < roofline.MEASURED_SHARE:
        lines.append(
            f"That is only {percent(room.measured)} of the operator's time, too little for an "
            "estimate."
        )
    if room.fewer_bytes is not None:
        fewer = room.fewer_bytes
        moved = f" instead of {volume(fewer.moved_bytes)}" if fewer.moved_bytes else ""
        lines.append(
            f"The Definition requires {volume(fewer.least_bytes)} per call{moved}; at the device's "
            f"peak rates that takes {fewer.floor_us:.3g} us, and a call now takes "
            f"{fewer.call_us:.4g} us."
        )
    if room.most is not None and figures.ceiling is not None and figures.reachable is not None:
        lines.append(
            f"So the largest possible speedup is {times(room.most)} for the kernel and "
            f"{times(figures.ceiling)} end to end; the reachable part of the roofline is a kernel "
            f"speedup of {times_each(figures.reachable)}."
        )
        if figures.needed is not None and figures.needed > figures.reachable.high:
            lines.append("The target requires more of the roofline than kernels usually reach.")
    return lines
