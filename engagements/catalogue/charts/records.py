"""Charts of the catalogue: kernels on the roofline, ratios with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from benchmarks.published.reports import Report
from engagements.catalogue.charts import texts
from engagements.catalogue.charts.texts import Point
from engagements.charts import canvas
from engagements.charts.limits import Roof
from engagements.charts.palette import NARROW, Theme
from engagements.charts.roofs import bandwidth, mark, rate
from engagements.common.ratios import agreed

ROOFLINE = "Every kernel on the roofline"
RATIOS = "End-to-end ratios"
_TICKS = (0.25, 0.5, 1, 2, 4, 8, 16)
# Points of a line of the list of names, and where that begins below the plane of a narrow picture.
_LINE_PT, _BELOW_PT = 12.5, 40
# A narrow picture's plane, in inches.
_PLANE_IN = 2.9
# Numbers of points nearer than this, in tens of FLOP per byte, go on this many lines.
_NEAR, _LEVELS = 0.16, 4


def roofline(found: Sequence[Report], theme: Theme) -> str:
    """Draw numbered kernels under the device's roof, baselines as rings. "" without data."""
    points = texts.points(found)
    if not points:
        return ""
    beside, below = max(3.1, 0.5 + 0.185 * len(points)), _PLANE_IN + _LINE_PT / 72 * len(points)
    with canvas.sheet(
        theme=theme,
        title=ROOFLINE,
        description=texts.roofline(found),
        height_in=below if theme in NARROW else beside,
    ) as drawn:
        axes = drawn.axes[0]
        over = texts.roof(found)
        _frame(axes, points, over)
        if over is not None:
            _roof(axes, over, drawn.ink)
        for point in points:
            _kernel(axes, point, drawn.ink)
        for number, (point, place) in enumerate(zip(points, _apart(points), strict=True), 1):
            _number(axes, number, point, place, drawn.ink)
        _names(axes, points, drawn.ink, is_below=theme in NARROW)
    return drawn.svg


def _frame(axes: Axes, points: Sequence[Point], over: Roof | None) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    speeds = [
        speed for one in points for speed in (one.candidate_gflop_per_s, one.baseline_gflop_per_s)
    ]
    highest = max([*speeds, *([over.gflop_per_s] if over else [])])
    axes.set_xlim(points[0].intensity / 3, max(points[-1].intensity * 3, 1e3))
    axes.set_ylim(min(speeds) / 12, highest * 4)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(numticks=8))
        axis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 1000:g}"))
    axes.set_ylabel("TFLOP per second")
    axes.set_xlabel("FLOP per byte that the operator must move")
    axes.grid(which="major")


def _roof(axes: Axes, over: Roof, ink: Mapping[str, str]) -> None:
    low, high = axes.get_xlim()
    ridge = over.gflop_per_s / over.gb_per_s
    corners = [low, ridge, high]
    heights = [min(over.gflop_per_s, over.gb_per_s * each) for each in corners]
    axes.plot(corners, heights, color=ink["axis"], linewidth=1.2)
    axes.annotate(
        f"{rate(over.gflop_per_s)} and {bandwidth(over.gb_per_s)}, measured",
        (high, over.gflop_per_s),
        xytext=(0, 4),
        textcoords="offset points",
        ha="right",
        color=ink["axis"],
    )


def _apart(points: Sequence[Point]) -> list[tuple[float, int]]:
    """The left edge and the line offset of each point's number: neighbours
    all begin at the lowest of them, so that a number meets no other and none of their marks."""
    groups: list[list[Point]] = []
    for place, point in enumerate(points):
        if place and log10(point.intensity / points[place - 1].intensity) < _NEAR:
            groups[-1].append(point)
        else:
            groups.append([point])
    found: list[tuple[float, int]] = []
    for group in groups:
        lowest = min(min(each.candidate_gflop_per_s, each.baseline_gflop_per_s) for each in group)
        found += [(lowest, line % _LEVELS) for line in range(len(group))]
    return found


def _number(
    axes: Axes, number: int, point: Point, place: tuple[float, int], ink: Mapping[str, str]
) -> None:
    axes.annotate(
        str(number),
        (point.intensity, place[0]),
        xytext=(0, -6 - _LINE_PT * 0.8 * place[1]),
        textcoords="offset points",
        ha="center",
        va="top",
        color=ink["ink"],
        fontweight="semibold",
    )


def _kernel(axes: Axes, point: Point, ink: Mapping[str, str]) -> None:
    """Draw a line from the baseline's ring to the candidate's mark."""
    ends = [point.baseline_gflop_per_s, point.candidate_gflop_per_s]
    axes.plot([point.intensity] * 2, ends, color=ink["candidate"], linewidth=0.8)
    axes.plot(
        point.intensity,
        point.baseline_gflop_per_s,
        marker="o",
        markersize=5,
        color=ink["baseline"],
        fillstyle="none",
        linestyle="none",
    )
    axes.plot(
        point.intensity,
        point.candidate_gflop_per_s,
        marker="D",
        markersize=5,
        color=ink["candidate"],
        linestyle="none",
    )


def _names(axes: Axes, points: Sequence[Point], ink: Mapping[str, str], *, is_below: bool) -> None:
    """Draw the legend of numbers and the two marks."""
    axes.figure.legend(
        [mark("D", ink["candidate"], filled=True), mark("o", ink["baseline"], filled=False)],
        ["candidate", "baseline"],
        loc="outside upper left",
        ncols=2,
        borderpad=0,
        borderaxespad=0,
        handlelength=1.0,
    )
    for place, point in enumerate(points):
        for text, shift, weight in ((str(place + 1), 10, "semibold"), (point.name, 26, "normal")):
            axes.annotate(
                text,
                (0, 0) if is_below else (1, 1),
                xycoords="axes fraction",
                xytext=(shift, -(_BELOW_PT if is_below else 4) - _LINE_PT * place),
                textcoords="offset points",
                va="top",
                color=ink["ink"],
                fontweight=weight,
                annotation_clip=False,
            )


def ratios(found: Sequence[Report], theme: Theme) -> str:
    """Draw a row per record, largest ratio first, on a logarithmic scale. "" without ratios."""
    rows = texts.rows(found)
    if not rows:
        return ""
    with canvas.sheet(
        theme=theme,
        title=RATIOS,
        description=texts.ratios(found),
        height_in=0.75 + 0.36 * len(rows),
    ) as drawn:
        axes, ink = drawn.axes[0], drawn.ink
        axes.set_xscale("log", base=2)
        for place, report in enumerate(rows):
            _row(axes, place, report, ink)
        names = [f"{texts.title_of(row)}\nagainst {row.baseline}" for row in rows]
        axes.set_yticks(range(len(rows)), names)
        axes.set_ylim(len(rows) - 0.4, -0.8)
        highest = max(max(report.high or 1.0, report.target) for report in rows)
        lowest = min(report.low or 1.0 for report in rows)
        axes.set_xlim(min(0.5, lowest / 1.15), max(2.5, highest * 1.2))
        axes.xaxis.set_major_locator(FixedLocator(list(_TICKS)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: agreed(value)))
        axes.axvline(1.0, color=ink["axis"], linewidth=1.0)
        axes.set_xlabel("baseline time / candidate time per step; the vertical line is the target")
        axes.grid(axis="x")
    return drawn.svg


def _row(axes: Axes, place: int, report: Report, ink: Mapping[str, str]) -> None:
    """Draw a bar from 1×, its interval, the target, and the ratio over a stronger baseline."""
    ratio = report.ratio or 1.0
    colour = ink["candidate"] if ratio >= 1 else ink["baseline"]
    axes.barh(place, ratio - 1.0, left=1.0, height=0.46, color=colour, alpha=0.55)
    if report.low is not None and report.high is not None:
        axes.plot([report.low, report.high], [place, place], color=ink["ink"], linewidth=2.2)
    axes.plot(ratio, place, marker="|", markersize=9, color=ink["ink"], linestyle="none")
    axes.plot(
        report.target,
        place,
        marker="|",
        markersize=12,
        markeredgewidth=1.6,
        color=ink["target"],
        linestyle="none",
    )
    if report.strongest not in (None, report.baseline) and report.against_strongest:
        axes.plot(
            report.against_strongest,
            place,
            marker="D",
            markersize=5,
            fillstyle="none",
            color=ink["series-3"],
            linestyle="none",
        )
