"""What is to be expected of the whole, from the best that is known of the kernel."""

from __future__ import annotations

from dataclasses import dataclass

from engagements.audit.rules import ceiling, roofline, selection
from engagements.audit.rules.case import Case
from engagements.audit.rules.figures import Interval
from engagements.audit.rules.finding import Source
from engagements.audit.rules.phrases import percent
from engagements.audit.rules.roofline import Headroom
from engagements.audit.rules.thresholds import Thresholds


@dataclass(frozen=True, kw_only=True)
class Gain:
    """The ratio of the whole to expect, between two bounds, and what it rests on."""

    end_to_end: Interval
    basis: str
    sources: tuple[Source, ...]


def reachable(room: Headroom, lines: Thresholds) -> Interval | None:
    """The kernel speedups that 60% and 80% of the roofline would be; None when it is unknown."""
    share = room.effective_share
    if share is None:
        return None
    return Interval(
        low=max(1.0, lines.bound_share / share), high=max(1.0, lines.tuned_share / share)
    )


def expected(case: Case) -> Gain | None:
    """The gain as it was measured, else as it was claimed, else as the roofline allows."""
    if case.end_to_end is not None:
        source = case.end_to_end.source
        basis = "measured" if source.kind in ("run", "file") else "as stated"
        return Gain(end_to_end=case.end_to_end.value, basis=basis, sources=(source,))
    share = selection.share(case)
    if share is None:
        return None
    room = roofline.headroom(case)
    if case.kernel_speedup is not None:
        kernel, basis = case.kernel_speedup.value, "from the claimed kernel speedup"
        sources: tuple[Source, ...] = (share.source, case.kernel_speedup.source)
        if room.most is not None and kernel.high > room.most:
            kernel = Interval(low=min(kernel.low, room.most), high=room.most)
            basis, sources = f"{basis}, cut to the roofline", (*sources, *room.sources)
    else:
        lines = case.thresholds
        within = reachable(room, lines)
        if within is None:
            return None
        kernel, basis = (
            within,
            f"from {percent(lines.bound_share)} to {percent(lines.tuned_share)} of the roofline",
        )
        sources = (share.source, *room.sources)
    return Gain(
        end_to_end=Interval(
            low=ceiling.ratio(share.value.low, kernel.low),
            high=ceiling.ratio(share.value.high, kernel.high),
        ),
        basis=basis,
        sources=tuple(dict.fromkeys(sources)),
    )
