"""Roofline chart of the operator alone: FLOP per byte against FLOP per second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from engagements.charts import canvas, describe
from engagements.charts.limits import Roof, measured_roof
from engagements.charts.palette import Theme

TITLE = "The operator on the roofline"
# Characters per legend row.
_ONE_ROW = 36
_ROOF = "measured here"
_SERIES = ("candidate", "series-2", "series-3", "series-4")


def draw(record: Mapping[str, Any], theme: Theme) -> str:
    """Draw a point per side and workload under the roof measured in the same run."""
    points = describe.operator_points(record)
    if not points:
        return ""
    with canvas.sheet(
        theme=theme, title=TITLE, description=describe.roofline(record), height_in=2.7
    ) as drawn:
        axes = drawn.axes[0]
        roof = measured_roof(record)
        _frame(axes, points, roof)
        if roof is not None:
            _roof(axes, points, roof, drawn.ink)
        _points(axes, points, drawn.ink)
    return drawn.svg


def _frame(axes: Axes, points: Sequence[Mapping[str, Any]], roof: Roof | None) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    intensities = [point["intensity"] for point in points]
    speeds = [point["gflop_per_s"] for point in points]
    ceiling = max(speeds) * 2
    if roof is not None:
        reached = min(roof.gflop_per_s, roof.gb_per_s * max(intensities) * 4)
        ceiling = max(ceiling, reached * 1.6)
    axes.set_xlim(min(intensities) / 4, max(intensities) * 4)
    axes.set_ylim(min(speeds) / 2.5, ceiling)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: rate(value)))
    axes.set_xlabel("FLOP per byte that the operator must move")
    axes.set_ylabel("FLOP per second")
    axes.grid(which="major")


def rate(gflop_per_s: float) -> str:
    """Format a rate of arithmetic in a suitable unit."""
    if gflop_per_s >= 1e6:
        return f"{gflop_per_s / 1e6:.3g} PFLOP/s"
    if gflop_per_s >= 1000:
        return f"{gflop_per_s / 1000:.3g} TFLOP/s"
    return f"{gflop_per_s:.3g} GFLOP/s"


def bandwidth(gb_per_s: float) -> str:
    """Format a bandwidth in a suitable unit."""
    return f"{gb_per_s / 1000:.3g} TB/s" if gb_per_s >= 1000 else f"{gb_per_s:.3g} GB/s"


def _roof(
    axes: Axes,
    points: Sequence[Mapping[str, Any]],
    roof: Roof,
    ink: Mapping[str, str],
) -> None:
    gb_per_s, gflop_per_s = roof
    low = min(point["intensity"] for point in points) / 4
    high = max(point["intensity"] for point in points) * 4
    ridge = gflop_per_s / gb_per_s
    corners = [low, *([ridge] if low < ridge < high else []), high]
    heights = [min(gflop_per_s, gb_per_s * each) for each in corners]
    label = f"{_ROOF}, {bandwidth(gb_per_s)} and {rate(gflop_per_s)}"
    axes.plot(corners, heights, color=ink["axis"], linewidth=1.2, label=label)


def _points(axes: Axes, points: Sequence[Mapping[str, Any]], ink: Mapping[str, str]) -> None:
    names = list(dict.fromkeys(point["name"] for point in points))
    for index, name in enumerate(names):
        colour = ink[_SERIES[index % len(_SERIES)]]
        mine = [point for point in points if point["name"] == name]
        axes.plot(
            [point["intensity"] for point in mine],
            [point["gflop_per_s"] for point in mine],
            color=colour,
            linewidth=0.8,
        )
        for point in mine:
            axes.plot(
                point["intensity"],
                point["gflop_per_s"],
                marker="D" if point["side"] == "candidate" else "o",
                markersize=6.5,
                color=colour,
                fillstyle="full" if point["side"] == "candidate" else "none",
            )
    _legend(axes, names, ink)


def _legend(axes: Axes, names: Sequence[str], ink: Mapping[str, str]) -> None:
    handles = [
        mark("o", ink["axis"], filled=False),
        mark("D", ink["axis"], filled=True),
        *(
            Line2D([], [], color=ink[_SERIES[index % len(_SERIES)]], linewidth=2)
            for index in range(len(names))
        ),
    ]
    roofs = [line for line in axes.lines if str(line.get_label()).startswith(_ROOF)]
    axes.figure.legend(
        [*handles, *roofs],
        ["baseline", "candidate", *names, *(str(line.get_label()) for line in roofs)],
        loc="outside upper left",
        ncols=2 if sum(map(len, names)) > _ONE_ROW else 2 + len(names) + len(roofs),
        borderpad=0,
        borderaxespad=0,
        handlelength=1.4,
        columnspacing=1.4,
    )


def mark(marker: str, colour: str, *, filled: bool) -> Line2D:
    """Return a legend mark."""
    return Line2D(
        [],
        [],
        linestyle="none",
        marker=marker,
        markersize=6,
        color=colour,
        fillstyle="full" if filled else "none",
    )
