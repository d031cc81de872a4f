"""Chart of the end-to-end ratio over the kernel speedup (Amdahl), with its ceiling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from engagements.charts import canvas, describe
from engagements.charts.palette import Theme
from engagements.common.ratios import agreed

if TYPE_CHECKING:
    from engagements.audit.rules.ceiling import CeilingFigures

TITLE = "End-to-end ratio over kernel speedup"
TICKS = (1, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)

Ink = Mapping[str, str]


def draw(figures: CeilingFigures, theme: Theme) -> str:
    """End-to-end ratio over kernel speedup. "" without a curve."""
    if len(figures.curve) < 2:
        return ""
    with canvas.sheet(theme=theme, title=TITLE, description=figures.alt(), height_in=2.9) as drawn:
        axes, ink = drawn.axes[0], drawn.ink
        _frame(axes, figures)
        _reach(axes, figures, ink)
        _levels(axes, figures, ink)
        speedups, ratios = zip(*figures.curve, strict=True)
        axes.plot(speedups, ratios, color=ink["candidate"], linewidth=1.8)
        _points(axes, figures, ink)
    return drawn.svg


def _frame(axes: Axes, figures: CeilingFigures) -> None:
    speedups, ratios = zip(*figures.curve, strict=True)
    low, high = min(speedups), max(speedups)
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(1 - 0.02 * (max(ratios) - 1), max(figures.target, *ratios) * 1.14)
    axes.grid(axis="y")
    axes.xaxis.set_major_locator(FixedLocator([tick for tick in TICKS if low <= tick <= high]))
    axes.xaxis.set_minor_locator(FixedLocator([]))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: agreed(value)))
    axes.set_xlabel("kernel speedup")
    axes.set_ylabel("end-to-end ratio")


def _reach(axes: Axes, figures: CeilingFigures, ink: Ink) -> None:
    """Shade the kernel speedups within reach by the roofline."""
    reach = figures.reachable
    if reach is None:
        return
    low, high = axes.get_xlim()
    left, right = max(low, reach.low), min(high, reach.high)
    if right <= left:
        return
    axes.axvspan(left, right, color=ink["band"], linewidth=0)
    axes.annotate(
        "within reach",
        ((left * right) ** 0.5, 0),
        xycoords=("data", "axes fraction"),
        xytext=(0, 4),
        textcoords="offset points",
        ha="center",
        color=ink["axis"],
    )


def _levels(axes: Axes, figures: CeilingFigures, ink: Ink) -> None:
    """Draw the target and the limit of the curve."""
    target, infinite = figures.target, figures.infinite
    low, high = axes.get_ylim()
    is_close = infinite is not None and 0 <= infinite - target < 0.08 * (high - low)
    _level(axes, target, f"target {describe.short(target)}", ink["target"], is_below=is_close)
    if infinite is not None and infinite < high:
        said = f"infinitely fast: {describe.short(infinite)}"
        _level(axes, infinite, said, ink["axis"], is_end=True)


def _level(
    axes: Axes,
    height: float,
    said: str,
    colour: str,
    *,
    is_end: bool = False,
    is_below: bool = False,
) -> None:
    axes.axhline(height, color=colour, linewidth=1.2, linestyle=(0, (4, 3)) if is_end else "-")
    axes.annotate(
        said,
        # The labels are at opposite ends, so that close ones do not overlap.
        (0.01 if is_end else 0.995, height),
        xycoords=("axes fraction", "data"),
        xytext=(0, -3 if is_below else 2),
        textcoords="offset points",
        ha="left" if is_end else "right",
        va="top" if is_below else "bottom",
        color=colour,
        fontweight="semibold",
    )


def _points(axes: Axes, figures: CeilingFigures, ink: Ink) -> None:
    """Mark the claimed kernel speedup and the one required for the target."""
    claimed = figures.claimed
    low, high = axes.get_xlim()
    if claimed is not None and low <= claimed.high and claimed.low <= high:
        ends = [min(max(end, low), high) for end in (claimed.low, claimed.high)]
        ratios = [figures.ratio(end) for end in ends]
        axes.plot(
            ends, ratios, color=ink["ink"], linewidth=3, marker="o", markersize=5, clip_on=False
        )
        # The limit's label is at the left, where a claim may be as high.
        bottom, top = axes.get_ylim()
        is_beside = figures.infinite is not None and (
            abs(figures.infinite - ratios[-1]) < 0.08 * (top - bottom)
        )
        is_early = ends[-1] < low * (high / low) ** (0.5 if is_beside else 0.2)
        # Above the target's line where the point is just below it.
        is_close = 0 <= figures.target - ratios[-1] < 0.08 * (top - bottom)
        away = (6 if is_early else -6, 15 if is_close else 4)
        _label(axes, "claimed", (ends[-1], ratios[-1]), ink["ink"], away)
    if figures.needed is not None and low <= figures.needed <= high:
        place = (figures.needed, figures.target)
        axes.plot(*place, marker="D", markersize=5, color=ink["target"])
        is_late = figures.needed > low * (high / low) ** 0.8
        said = f"requires {describe.short(figures.needed)}"
        _label(axes, said, place, ink["target"], (-6, -11) if is_late else (6, -11))


def _label(
    axes: Axes, said: str, place: tuple[float, float], colour: str, away: tuple[int, int]
) -> None:
    axes.annotate(
        said,
        place,
        xytext=away,
        textcoords="offset points",
        ha="left" if away[0] > 0 else "right",
        color=colour,
    )
