"""How near the operator is to the roofline, in sentences for an engineer."""

from __future__ import annotations

from engagements.audit.rules import collecting, roofline
from engagements.audit.rules.ceiling import CeilingFigures
from engagements.audit.rules.phrases import percent, times, times_each, volume
from engagements.audit.rules.roofline import Headroom


def about(room: Headroom, figures: CeilingFigures) -> list[str]:
    """What was measured of its kernels, and what the fewest bytes would make of them."""
    lines = []
    for kernel in room.kernels[:3]:
        bound = f", bound by {kernel.bound}" if kernel.bound else ""
        lines.append(
            f"{collecting.base_name(kernel.name)} runs at {percent(kernel.roofline_share)} of the "
            f"roofline{bound}."
        )
    if room.are_alike:
        lines.append(
            "The profile names none of these kernels; they stand for the operator's as ones of "
            "the same kind."
        )
    if room.kernels and room.measured < roofline.MEASURED_SHARE:
        lines.append(
            f"That is only {percent(room.measured)} of the operator's time, too little to go by."
        )
    if room.fewer_bytes is not None:
        fewer = room.fewer_bytes
        moved = f" instead of {volume(fewer.moved_bytes)}" if fewer.moved_bytes else ""
        lines.append(
            f"The Definition needs {volume(fewer.least_bytes)} a call{moved}; at the device's "
            f"peaks that is {fewer.floor_us:.3g} us where a call now takes {fewer.call_us:.4g} us."
        )
    if room.most is not None and figures.ceiling is not None and figures.reachable is not None:
        lines.append(
            f"So the kernel can gain {times(room.most)} at most, the whole "
            f"{times(figures.ceiling)}; the reachable part of the roofline would be "
            f"{times_each(figures.reachable)} of the kernel."
        )
        if figures.needed is not None and figures.needed > figures.reachable.high:
            lines.append("The target takes more of the roofline than kernels usually reach.")
    return lines
