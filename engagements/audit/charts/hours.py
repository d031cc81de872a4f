"""Chart of required and available maintenance hours a month."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from engagements.charts import canvas
from engagements.charts.palette import Theme

if TYPE_CHECKING:
    from engagements.audit.rules.maintain import UpkeepFigures

TITLE = "Hours a month, required and available"
_SERIES = ("candidate", "series-2", "series-3", "series-4", "baseline")


def draw(figures: UpkeepFigures, theme: Theme) -> str:
    """Draw two stacked bars. "" when nothing is required."""
    if not figures.tasks:
        return ""
    with canvas.sheet(
        theme=theme,
        title=TITLE,
        description=figures.alt(),
        height_in=1.65,
    ) as drawn:
        axes = drawn.axes[0]
        tasks = [(task.name, task.hours_a_month) for task in figures.tasks]
        _bar(axes, 0, tasks, drawn.ink)
        there = sum(hours for _, hours in figures.people)
        axes.barh(1, figures.offered or there, height=0.58, color=drawn.ink["axis"])
        names = ["Required", "Available" if figures.offered is not None else "Available: not known"]
        axes.set_yticks([0, 1], names)
        axes.set_ylim(1.5, -0.55)
        axes.set_xlim(0, max(figures.needed, figures.offered or 0.0, 1.0) * 1.08)
        axes.xaxis.set_major_locator(MaxNLocator(8))
        axes.set_xlabel("hours a month")
        axes.grid(axis="x")
        drawn.figure.legend(
            [Patch(color=drawn.ink[_SERIES[index % len(_SERIES)]]) for index in range(len(tasks))],
            [canvas.shortened(name, 34) for name, _ in tasks],
            loc="outside upper left",
            ncols=min(len(tasks), 3),
            borderpad=0,
            borderaxespad=0,
            handlelength=1.0,
        )
    return drawn.svg


def _bar(axes: Axes, row: int, parts: Sequence[tuple[str, float]], ink: Mapping[str, str]) -> None:
    left = 0.0
    for index, (_, hours) in enumerate(parts):
        axes.barh(row, hours, left=left, height=0.58, color=ink[_SERIES[index % len(_SERIES)]])
        left += hours
