"""Chart of the time per end-to-end call on both sides, by workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from engagements.charts import canvas, describe
from engagements.charts.palette import Theme

TITLE = "Time of one call by workload"
_BAR = 0.36


def draw(record: Mapping[str, Any], theme: Theme) -> str:
    """Draw two bars per workload with their times. "" without times."""
    items = [
        item
        for item in record["summary"]["workloads"]
        if item["baseline_us"] is not None and item["candidate_us"] is not None
    ]
    if not items:
        return ""
    with canvas.sheet(
        theme=theme,
        title=TITLE,
        description=describe.workload_bars(record),
        height_in=0.62 + 0.44 * len(items),
    ) as drawn:
        _bars(drawn.axes[0], items, drawn.ink)
    return drawn.svg


def _bars(axes: Axes, items: list[Mapping[str, Any]], ink: Mapping[str, str]) -> None:
    longest_us = max(max(item["baseline_us"], item["candidate_us"]) for item in items)
    for side, shift in (("baseline", -_BAR / 2), ("candidate", _BAR / 2)):
        values = [item[f"{side}_us"] for item in items]
        places = [index + shift for index in range(len(items))]
        axes.barh(places, values, height=_BAR * 0.92, color=ink[side], label=side)
        for place, value in zip(places, values, strict=True):
            axes.annotate(
                describe.duration(value),
                (value, place),
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
                color=ink["ink"],
            )
    axes.set_xlim(0, longest_us * 1.13)
    axes.set_ylim(len(items) - 0.5, -0.5)
    axes.set_yticks(range(len(items)), [item["name"] for item in items])
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(_tick(longest_us)))
    axes.grid(axis="x")
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=2,
        borderaxespad=0.2,
        handlelength=1,
        handleheight=0.8,
        columnspacing=1.4,
    )


def _tick(longest_us: float) -> Any:
    scale, unit = (1e6, "s") if longest_us >= 1e6 else (1e3, "ms")
    if longest_us < 1e3:
        scale, unit = 1.0, "µs"
    return lambda value, _: f"{value / scale:g} {unit}"
