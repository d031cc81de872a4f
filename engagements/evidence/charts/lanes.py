"""Chart of GPU busy time over the window: a lane per kernel family and one for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from engagements.charts import canvas
from engagements.charts.palette import Theme
from engagements.evidence.charts import texts
from engagements.evidence.readers.facts import TraceFacts

TITLE = "Timeline by kernel family"
_SERIES = ("candidate", "series-2", "series-3", "series-4")
_HIGH = 0.78
# As many as a wide screen resolves; the page draws all of them when it zooms.
_DRAWN_BUCKETS = 200


def draw(facts: TraceFacts, theme: Theme) -> str:
    """Draw lanes filled by busy share. "" without GPU activity."""
    timeline, lanes = facts.timeline, texts.lanes_of(facts)
    if timeline is None or not lanes:
        return ""
    with canvas.sheet(
        theme=theme,
        title=TITLE,
        description=texts.timeline(facts),
        height_in=0.62 + 0.27 * (len(lanes) + 1),
    ) as drawn:
        axes = drawn.axes[0]
        each = max(len(timeline.busy) // _DRAWN_BUCKETS, 1)
        busy = _averaged(timeline.busy, each)
        edges = [timeline.bucket_ms * each * index for index in range(len(busy) + 1)]
        _lane(axes, 0, edges, busy, drawn.ink["baseline"])
        for row, (name, _) in enumerate(lanes, start=1):
            colour = drawn.ink[_SERIES[(row - 1) % len(_SERIES)]]
            _lane(axes, row, edges, _averaged(timeline.families[name], each), colour)
        shares = [("GPU busy", facts.gpu_busy_share or 0.0), *lanes]
        _frame(axes, edges, shares, drawn.ink)
    return drawn.svg


def _averaged(busy: Sequence[float], each: int) -> list[float]:
    """Return the mean of each `each` buckets."""
    return [fmean(busy[start : start + each]) for start in range(0, len(busy), each)]


def _lane(axes: Axes, row: int, edges: Sequence[float], busy: Sequence[float], colour: str) -> None:
    floor = row + _HIGH / 2
    tops = [floor - _HIGH * min(share, 1.0) for share in busy]
    axes.stairs(tops, edges, baseline=floor, fill=True, color=colour, linewidth=0)
    axes.plot([edges[0], edges[-1]], [floor, floor], color=colour, linewidth=0.5)


def _frame(
    axes: Axes,
    edges: Sequence[float],
    shares: Sequence[tuple[str, float]],
    ink: Mapping[str, str],
) -> None:
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(len(shares) - 0.4, -0.6)
    axes.set_yticks(range(len(shares)), [name for name, _ in shares])
    axes.get_yticklabels()[0].set_fontweight("semibold")
    axes.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("ms of wall-clock time")
    axes.grid(axis="x")
    for row, (_, share) in enumerate(shares):
        axes.annotate(
            f"{share:.1%}",
            (1, row),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=ink["ink"],
            fontweight="semibold" if row == 0 else "regular",
            annotation_clip=False,
        )
