"""Chart of weeks of work and lifetime, and of the payback of the fee."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from engagements.charts import canvas
from engagements.charts.palette import Theme

if TYPE_CHECKING:
    from engagements.audit.rules.lives import LifeFigures

TITLE = "Lifetime and work in weeks"
_CHANGES = 4


def draw(figures: LifeFigures, theme: Theme) -> str:
    """Work and life on one axis of weeks, with planned models and the payback."""
    rows = ["Work, then lifetime"] + (["Payback"] if _payback(figures) else [])
    with canvas.sheet(
        theme=theme,
        title=TITLE,
        description=figures.alt(),
        height_in=0.95 + 0.3 * len(rows),
    ) as drawn:
        axes, ink = drawn.axes[0], drawn.ink
        work, life = figures.work_weeks, figures.life_weeks
        axes.barh(0, min(work, life), height=0.6, color=ink["baseline"])
        if life > work:
            axes.barh(0, life - work, left=work, height=0.6, color=ink["candidate"])
        end = max(life, work, 1.0) * 1.12
        if found := _payback(figures):
            low, high = found
            last = min(high, end) if high is not None else end
            axes.barh(1, max(last - low, end * 0.006), left=low, height=0.4, color=ink["series-2"])
        _frame(axes, rows, end)
        _changes(axes, figures, end, ink)
    return drawn.svg


def _payback(figures: LifeFigures) -> tuple[float, float | None] | None:
    """Return the first and last week of the payback from the start of work; None without one."""
    soonest, latest = figures.payback_weeks or (None, None)
    if soonest is None:
        return None
    work = figures.work_weeks
    return work + soonest, None if latest is None else work + latest


def _frame(axes: Axes, rows: list[str], end: float) -> None:
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.5, -0.6)
    axes.set_xlim(0, end)
    axes.xaxis.set_major_locator(MaxNLocator(9, integer=True))
    axes.set_xlabel("weeks from today")
    axes.grid(axis="x")


def _changes(axes: Axes, figures: LifeFigures, end: float, ink: Mapping[str, str]) -> None:
    for change in figures.changes[:_CHANGES]:
        if 0 <= change.weeks_away <= end:
            colour = ink["target"] if change.ends_the_kernel else ink["axis"]
            canvas.upright(axes, change.weeks_away, canvas.shortened(change.name, 24), colour)
