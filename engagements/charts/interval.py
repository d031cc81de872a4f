"""Chart of ratios with intervals and target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from engagements.charts import canvas, describe
from engagements.charts.palette import Theme
from engagements.common.ratios import agreed

TITLE = "Speedup with its interval"


def draw(record: Mapping[str, Any], theme: Theme) -> str:
    """Draw a row end to end, then one per workload. "" without ratios."""
    rows = measured_rows(record["summary"])
    if not rows:
        return ""
    with canvas.sheet(
        theme=theme,
        title=TITLE,
        description=describe.ratio_interval(record),
        height_in=0.62 + 0.25 * len(rows),
    ) as drawn:
        axes = drawn.axes[0]
        for position, row in enumerate(rows):
            _row(axes, position, row, drawn.ink)
        _frame(axes, rows, record["summary"]["target"], drawn.ink)
    return drawn.svg


def measured_rows(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the end-to-end row (`whole` true), then the workloads with a ratio."""
    if summary["ratio"] is None:
        return []
    whole = {
        "label": "End to end",
        "whole": True,
        "ratio": summary["ratio"],
        "low": summary["low"],
        "high": summary["high"],
    }
    parts = [
        {
            "label": item["name"],
            "whole": False,
            "ratio": item["ratio"],
            "low": item["low"],
            "high": item["high"],
        }
        for item in summary["workloads"]
        if item["ratio"] is not None
    ]
    return [whole, *parts] if len(parts) > 1 else [whole]


def _row(axes: Axes, position: int, row: Mapping[str, Any], ink: Mapping[str, str]) -> None:
    colour = ink["candidate"] if row["whole"] else ink["axis"]
    if row["low"] is not None and row["high"] is not None:
        axes.plot(
            [row["low"], row["high"]],
            [position, position],
            color=ink["band"] if row["whole"] else ink["grid"],
            linewidth=9 if row["whole"] else 6,
            solid_capstyle="butt",
        )
        for edge in (row["low"], row["high"]):
            axes.plot(
                [edge, edge],
                [position - 0.22, position + 0.22],
                color=colour,
                linewidth=1.1 if row["whole"] else 0.8,
            )
    axes.plot(
        row["ratio"],
        position,
        marker="D" if row["whole"] else "o",
        markersize=6 if row["whole"] else 4.5,
        color=colour,
        markeredgewidth=0,
    )


def _frame(axes: Axes, rows: list[dict[str, Any]], target: float, ink: Mapping[str, str]) -> None:
    low, high = _limits(rows, target)
    axes.set_xlim(low, high)
    axes.set_ylim(len(rows) - 0.5, -0.55)
    axes.set_yticks(range(len(rows)), [row["label"] for row in rows])
    axes.get_yticklabels()[0].set_fontweight("semibold")
    axes.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: agreed(value)))
    axes.grid(axis="x")
    axes.axvline(1.0, color=ink["axis"], linewidth=0.6, linestyle=(0, (1, 2)))
    mark_target(axes, target, ink)


def mark_target(axes: Axes, target: float, ink: Mapping[str, str]) -> None:
    """Draw the target as a labelled line."""
    axes.axvline(target, color=ink["target"], linewidth=1.2)
    axes.annotate(
        f"target {agreed(target)}",
        (target, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        va="bottom",
        color=ink["target"],
        fontweight="semibold",
        annotation_clip=False,
    )


def _limits(rows: list[dict[str, Any]], target: float) -> tuple[float, float]:
    seen = [1.0, target]
    for row in rows:
        seen += [row[key] for key in ("ratio", "low", "high") if row[key] is not None]
    margin = max(0.06 * (max(seen) - min(seen)), 0.05)
    return max(0.0, min(seen) - margin), max(seen) + margin
