"""Chart of two profiles: the time of each kernel family, before and after."""

from __future__ import annotations

from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from engagements.charts import canvas
from engagements.charts.palette import Theme
from engagements.evidence.charts import texts
from engagements.evidence.readers.comparison import Comparison

TITLE = "Two profiles by kernel family"
_MOST = 10


def draw(compared: Comparison, theme: Theme) -> str:
    """Draw two bars per family, the largest first. "" without families."""
    rows = sorted(
        compared.families, key=lambda row: -max(row.before_ms or 0.0, row.after_ms or 0.0)
    )[:_MOST]
    if not rows:
        return ""
    with canvas.sheet(
        theme=theme,
        title=TITLE,
        description=texts.profiles(compared),
        height_in=0.75 + 0.32 * len(rows),
    ) as drawn:
        axes, ink = drawn.axes[0], drawn.ink
        for number, row in enumerate(rows):
            axes.barh(number - 0.18, row.before_ms or 0.0, height=0.32, color=ink["baseline"])
            axes.barh(number + 0.18, row.after_ms or 0.0, height=0.32, color=ink["candidate"])
        axes.set_yticks(range(len(rows)), [canvas.shortened(row.name) for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.55)
        axes.xaxis.set_major_locator(MaxNLocator(8))
        axes.set_xlabel(f"busy time of the family, ms per {compared.of}")
        axes.grid(axis="x")
        drawn.figure.legend(
            [Patch(color=ink["baseline"]), Patch(color=ink["candidate"])],
            ["before", "after"],
            loc="outside upper left",
            ncols=2,
            borderpad=0,
            borderaxespad=0,
            handlelength=1.0,
        )
    return drawn.svg
