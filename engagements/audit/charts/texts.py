"""What the pictures of an audit show, in words: for alt attributes and the SVGs' descriptions."""

from __future__ import annotations

from engagements.audit.rules.ceiling import ratio
from engagements.audit.rules.figures import CeilingFigures, HotFigures, LifeFigures, UpkeepFigures
from engagements.charts.describe import interval_text
from engagements.common.ratios import measured


def wall_parts(figures: HotFigures) -> str:
    """Where the wall-clock time goes."""
    return "Of the wall-clock time: " + (
        ", ".join(f"{part.name} {part.share:.1%}" for part in figures.parts) + "."
    )


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


def ceiling(figures: CeilingFigures) -> str:
    """What the kernel's speedup makes of the whole, and where that ends."""
    lines = [f"The operator is {figures.share:.1%} of the wall-clock time."]
    if figures.infinite is not None:
        lines.append(
            "Even an infinitely fast kernel gives at most "
            f"{measured(figures.infinite)} of the whole."
        )
    if figures.needed is not None:
        lines.append(
            f"The target of {measured(figures.target)} takes a kernel "
            f"{measured(figures.needed)} as fast."
        )
    else:
        lines.append(f"No kernel reaches the target of {measured(figures.target)}.")
    if figures.reachable is not None:
        lines.append(
            f"The roofline leaves {measured(figures.reachable.low)} to "
            f"{measured(figures.reachable.high)} for the kernel within reach."
        )
    if figures.claimed is not None:
        claimed = figures.claimed
        lines.append(
            f"Claimed are {interval_text(claimed.low, claimed.high)} in the kernel, which make "
            f"{interval_text(*(ratio(figures.share, end) for end in (claimed.low, claimed.high)))} "
            "of the whole."
        )
    return " ".join(lines)
