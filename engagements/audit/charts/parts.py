"""Chart of wall-clock time: the operator, the other kernels, and waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import PercentFormatter

from engagements.charts import canvas
from engagements.charts.palette import Theme

if TYPE_CHECKING:
    from engagements.audit.rules.hot import HotFigures, Part

TITLE = "Where the wall-clock time goes"
_MOST = 8
_COLOUR = {"operator": "candidate", "other": "baseline", "waiting": "series-2"}


def draw(figures: HotFigures, least_share: float, theme: Theme) -> str:
    """Draw a bar per part and the required share. "" without parts."""
    parts = parts_of(figures)
    if not parts:
        return ""
    with canvas.sheet(
        theme=theme,
        title=TITLE,
        description=figures.alt(),
        height_in=0.62 + 0.25 * len(parts),
    ) as drawn:
        axes = drawn.axes[0]
        for row, part in enumerate(parts):
            axes.barh(row, part.share, height=0.62, color=drawn.ink[_COLOUR[part.kind]])
            axes.annotate(
                f"{part.share:.1%}",
                # Beside a short bar the figure would overlap the line of the required share.
                (max(part.share, least_share), row),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                color=drawn.ink["ink"],
            )
        axes.set_yticks(range(len(parts)), [canvas.shortened(part.name) for part in parts])
        for label, part in zip(axes.get_yticklabels(), parts, strict=True):
            label.set_fontweight("semibold" if part.kind == "operator" else "regular")
        axes.set_ylim(len(parts) - 0.5, -0.55)
        axes.set_xlim(0, min(1.1, max(part.share for part in parts) * 1.15 + 0.02))
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axes.set_xlabel("share of the wall-clock time")
        axes.grid(axis="x")
        canvas.upright(axes, least_share, f"at least {least_share:.0%}", drawn.ink["target"])
    return drawn.svg


def parts_of(figures: HotFigures) -> list[Part]:
    """Return the largest parts, always including the operator."""
    first = [part for part in figures.parts if part.kind == "operator"]
    rest = [part for part in figures.parts if part.kind != "operator"]
    shown = [*first, *rest[: _MOST - len(first)]]
    return sorted(shown, key=lambda part: -part.share)
