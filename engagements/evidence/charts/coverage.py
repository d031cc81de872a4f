"""Chart of cumulative coverage by the most frequent shapes, of calls and of time."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator, PercentFormatter

from engagements.charts import canvas
from engagements.charts.palette import Theme
from engagements.evidence.charts import texts
from engagements.evidence.readers.facts import Curve

TITLE = "Coverage by the most frequent shapes"


def draw(
    calls: Curve,
    time: Curve | None,
    wanted: tuple[int, float] | None,
    theme: Theme,
) -> str:
    """Draw both curves and the required (shapes, share). "" without points."""
    if not calls.shapes:
        return ""
    with canvas.sheet(
        theme=theme,
        title=TITLE,
        description=texts.shape_curves(calls, time),
        height_in=2.5,
    ) as drawn:
        axes = drawn.axes[0]
        _curve(axes, calls, drawn.ink["candidate"], "of calls")
        if time is not None:
            _curve(axes, time, drawn.ink["series-2"], "of time")
        most = max(2, calls.shapes[-1], *((wanted[0] * 1.6,) if wanted else ()))
        _frame(axes, most)
        if wanted is not None:
            shapes, share = wanted
            axes.axhline(share, color=drawn.ink["target"], linewidth=0.8, linestyle=(0, (4, 2)))
            label = f"{shapes} shapes, {share:.0%} required"
            canvas.upright(axes, shapes, label, drawn.ink["target"])
        drawn.figure.legend(
            loc="outside upper left", ncols=2, borderpad=0, borderaxespad=0, handlelength=1.4
        )
    return drawn.svg


def _curve(axes: Axes, curve: Curve, colour: str, label: str) -> None:
    axes.plot(
        curve.shapes,
        curve.shares,
        color=colour,
        linewidth=1.6,
        marker="o" if len(curve.shapes) < 20 else "",
        markersize=3,
        label=label,
    )


def _frame(axes: Axes, most: float) -> None:
    axes.set_xscale("log")
    axes.set_xlim(0.9, most * 1.1)
    axes.set_ylim(0, 1.03)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_xlabel("most frequent shapes")
    axes.grid(which="major")
