"""What the pictures of an audit show, in words: for alt attributes and the SVGs' descriptions."""

from __future__ import annotations

from engagements.audit.figures import HotFigures, LifeFigures, UpkeepFigures
from engagements.evidence.comparison import Comparison
from engagements.evidence.facts import Curve, TraceFacts

LANES = 8


def timeline(facts: TraceFacts) -> str:
    """Which share of the wall-clock time each family of kernels kept a device busy."""
    if facts.timeline is None:
        return "The file holds no operation of a GPU."
    busy = f"{facts.wall_ms:.4g} ms of wall-clock time, GPU busy {facts.gpu_busy_share or 0:.1%}."
    lanes = ", ".join(f"{name} {share:.1%}" for name, share in lanes_of(facts))
    return f"{busy} By family: {lanes}."


def lanes_of(facts: TraceFacts) -> list[tuple[str, float]]:
    """The families that have a lane, the busiest first, with their share of wall-clock time."""
    if facts.timeline is None:
        return []
    shares = {group.name: group.share_of_wall for group in facts.families}
    known = [(name, shares.get(name, 0.0)) for name in facts.timeline.families]
    return sorted(known, key=lambda lane: -lane[1])[:LANES]


def wall_parts(figures: HotFigures) -> str:
    """Where the wall-clock time goes."""
    return "Of the wall-clock time: " + (
        ", ".join(f"{part.name} {part.share:.1%}" for part in figures.parts) + "."
    )


def shape_curves(calls: Curve, time: Curve | None) -> str:
    """How many shapes cover how much of the traffic."""
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
    """The share that so many shapes cover, as far as the curve has points."""
    within = [
        share for number, share in zip(curve.shapes, curve.shares, strict=True) if number <= shapes
    ]
    return max(within, default=0.0)


def life(figures: LifeFigures) -> str:
    """Weeks of work, of life, and until the fee has come back."""
    plus = " or more" if figures.is_open_ended else ""
    said = [
        f"The kernel takes {figures.work_weeks:g} weeks and lives until week "
        f"{figures.life_weeks:g}{plus}."
    ]
    if figures.payback_weeks is not None:
        soonest, latest = figures.payback_weeks
        if soonest is None:
            said.append("The fee never comes back.")
        else:
            upper = f"{latest:.3g}" if latest is not None else "never"
            said.append(f"The fee has come back {soonest:.3g} to {upper} weeks after delivery.")
    said += [f"{each.name} is expected in week {each.weeks_away:.3g}." for each in figures.changes]
    return " ".join(said)


def upkeep(figures: UpkeepFigures) -> str:
    """Hours a month that the kernel wants, against those there are."""
    tasks = ", ".join(f"{task.name} {task.hours_a_month:g}" for task in figures.tasks)
    offered = "not known" if figures.offered is None else f"{figures.offered:g}"
    return f"Wanted: {figures.needed:g} hours a month ({tasks}). There are: {offered}."


def profiles(compared: Comparison) -> str:
    """The time of each family in both profiles."""
    return (
        " ".join(
            f"{row.name}: {row.before_ms or 0:.3g} ms before, {row.after_ms or 0:.3g} ms after."
            for row in compared.families
        )
        or "Neither profile holds an operation of a GPU."
    )
