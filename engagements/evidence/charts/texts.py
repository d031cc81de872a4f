"""Alt texts of the charts of evidence."""

from __future__ import annotations

from engagements.evidence.readers.comparison import Comparison
from engagements.evidence.readers.facts import Curve, TraceFacts

LANES = 8


def timeline(facts: TraceFacts) -> str:
    """Describe the share of wall-clock time in which each kernel family was busy."""
    if facts.timeline is None:
        return "The profile has no GPU activity."
    busy = f"{facts.wall_ms:.4g} ms of wall-clock time, GPU busy {facts.gpu_busy_share or 0:.1%}."
    lanes = ", ".join(f"{name} {share:.1%}" for name, share in lanes_of(facts))
    return f"{busy} By family: {lanes}."


def lanes_of(facts: TraceFacts) -> list[tuple[str, float]]:
    """Return the families with a lane, the busiest first, with their share of wall-clock time."""
    if facts.timeline is None:
        return []
    shares = {group.name: group.share_of_wall for group in facts.families}
    known = [(name, shares.get(name, 0.0)) for name in facts.timeline.families]
    return sorted(known, key=lambda lane: -lane[1])[:LANES]


def shape_curves(calls: Curve, time: Curve | None) -> str:
    """Describe the coverage of the traffic by its most frequent shapes."""
    said = []
    for name, curve in (("calls", calls), ("time", time)):
        if curve is not None:
            ends = [_covered(curve, number) for number in (1, 4, 16)]
            said.append(
                f"Of {name}, the most frequent shape covers {ends[0]:.0%}, "
                f"4 cover {ends[1]:.0%}, 16 cover {ends[2]:.0%}."
            )
    return " ".join(said)


def _covered(curve: Curve, shapes: int) -> float:
    """Return the share covered by `shapes` shapes, by the curve's points."""
    within = [
        share for number, share in zip(curve.shapes, curve.shares, strict=True) if number <= shapes
    ]
    return max(within, default=0.0)


def profiles(compared: Comparison) -> str:
    """Describe the time of each family in both profiles."""
    return (
        " ".join(
            f"{row.name}: {row.before_ms or 0:.3g} ms before, {row.after_ms or 0:.3g} ms after."
            for row in compared.families
        )
        or "Neither profile has GPU activity."
    )
