"""Chart of every round's ratio, by replicate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from engagements.charts import canvas, describe
from engagements.charts.palette import Theme
from engagements.common.ratios import agreed

TITLE = "Ratio of every round"
# Fixed vertical offsets of the points in a row, so that a record always gives the same chart.
_SCATTER = (0.0, 0.2, -0.2, 0.1, -0.1, 0.27, -0.27, 0.05, -0.15, 0.15, -0.05)


def draw(record: Mapping[str, Any], theme: Theme) -> str:
    """Draw a panel per workload, a row per replicate, a point per round.

    "" without valid ratios, as for a disqualified candidate.
    """
    found = describe.round_ratios(record)
    if not found or record["summary"]["ratio"] is None:
        return ""
    rows = sum(len(replicates) for replicates in found.values())
    with canvas.sheet(
        theme=theme,
        title=TITLE,
        description=describe.ratio_distribution(record),
        height_in=0.85 + 0.2 * rows + 0.24 * len(found),
        heights=[len(replicates) + 0.8 for replicates in found.values()],
    ) as drawn:
        for axes, (name, replicates) in zip(drawn.axes, found.items(), strict=True):
            _panel(axes, name, replicates, drawn.ink)
        _frame(drawn.axes, found, record["summary"]["target"], drawn.ink)
        _legend(drawn.figure, record["summary"]["target"], drawn.ink)
    return drawn.svg


def _panel(
    axes: Axes, name: str, replicates: Sequence[Sequence[float]], ink: Mapping[str, str]
) -> None:
    axes.set_title(name, loc="left", fontsize=canvas.FONT_PT, fontweight="semibold", pad=3)
    for position, ratios in enumerate(replicates):
        scatter = [position + _SCATTER[i % len(_SCATTER)] for i in range(len(ratios))]
        axes.plot(
            ratios,
            scatter,
            linestyle="none",
            marker="o",
            markersize=2.6,
            markeredgewidth=0,
            alpha=0.55,
            color=ink["candidate"],
        )
        if ratios:
            axes.plot(
                [median(ratios)] * 2,
                [position - 0.38, position + 0.38],
                color=ink["ink"],
                linewidth=1.2,
            )
    axes.set_ylim(len(replicates) - 0.45, -0.55)
    axes.set_yticks(
        range(len(replicates)), [f"replicate {index + 1}" for index in range(len(replicates))]
    )
    axes.tick_params(axis="y", labelcolor=ink["axis"])
    axes.grid(axis="x")


def _frame(
    panels: list[Axes],
    found: Mapping[str, Sequence[Sequence[float]]],
    target: float,
    ink: Mapping[str, str],
) -> None:
    seen = [ratio for lists in found.values() for ratios in lists for ratio in ratios]
    low, high = min([*seen, target]), max([*seen, target])
    margin = max(0.05 * (high - low), 0.02)
    last = panels[-1]
    last.set_xlim(max(0.0, low - margin), high + margin)
    last.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 2.5, 5, 10]))
    last.xaxis.set_major_formatter(FuncFormatter(lambda value, _: agreed(value)))
    last.set_xlabel("baseline time / candidate time")
    for axes in panels:
        axes.axvline(target, color=ink["target"], linewidth=1.2)


def _legend(figure: Figure, target: float, ink: Mapping[str, str]) -> None:
    point = Line2D([], [], linestyle="none", marker="o", markersize=3.5, markeredgewidth=0)
    point.set_color(ink["candidate"])
    middle = _upright(ink["ink"])
    aim = _upright(ink["target"])
    figure.legend(
        [point, middle, aim],
        ["one round", "median of the replicate", f"target {agreed(target)}"],
        loc="outside upper left",
        ncols=3,
        borderpad=0,
        borderaxespad=0,
        handletextpad=0.1,
        columnspacing=1.4,
    )


def _upright(colour: str) -> Line2D:
    return Line2D(
        [], [], color=colour, linestyle="none", marker="|", markersize=8, markeredgewidth=1.2
    )
