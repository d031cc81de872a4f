"""Chart of the estimate of a run in progress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from engagements.charts import canvas, describe
from engagements.charts.palette import Theme
from engagements.common.ratios import agreed

TITLE = "The estimate so far"


def draw(progress: Mapping[str, Any], target: float | None, theme: Theme) -> str:
    """Draw estimate and interval over the seconds since the start. "" without estimates."""
    history = [point for point in progress.get("history") or [] if point["ratio"] is not None]
    if not history:
        return ""
    with canvas.sheet(
        theme=theme,
        title=TITLE,
        description=describe.estimate_history(progress),
        height_in=1.9,
    ) as drawn:
        _lines(drawn.axes[0], history, drawn.ink)
        _frame(drawn.axes[0], target, drawn.ink)
    return drawn.svg


def _lines(axes: Axes, history: list[Mapping[str, Any]], ink: Mapping[str, str]) -> None:
    bounded = [p for p in history if p["low"] is not None and p["high"] is not None]
    axes.fill_between(
        [point["at_s"] for point in bounded],
        [point["low"] for point in bounded],
        [point["high"] for point in bounded],
        color=ink["band"],
        linewidth=0,
    )
    axes.plot(
        [point["at_s"] for point in history],
        [point["ratio"] for point in history],
        color=ink["candidate"],
        linewidth=1.6,
        marker="o" if len(history) < 12 else None,
        markersize=3,
    )


def _frame(axes: Axes, target: float | None, ink: Mapping[str, str]) -> None:
    axes.margins(x=0.01, y=0.12)
    axes.grid(axis="y")
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: agreed(value)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} s"))
    if target is None:
        return
    axes.axhline(target, color=ink["target"], linewidth=1.2)
    axes.annotate(
        f"target {agreed(target)}",
        (1, target),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="right",
        va="bottom",
        color=ink["target"],
        fontweight="semibold",
    )
