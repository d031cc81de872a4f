"""Pictures of what was measured, as SVG, for the pages and for the documents alike.

Pure functions: a record (or a run's progress) in, an SVG string out. `theme` is

- "page": colours are the page's own custom properties, so that one inline SVG follows the
  light and the dark theme,
- "light", "dark", "print": fixed colours, for an <img>.

Every SVG carries role, <title> and <desc>; `describe` holds the same words for an alt
attribute. matplotlib is imported on the first picture and never by importing this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engagements.audit.figures import CeilingFigures, HotFigures, LifeFigures, UpkeepFigures
from engagements.charts import describe, describe_audit
from engagements.charts.limits import measured_roof
from engagements.charts.palette import Theme
from engagements.evidence.comparison import Comparison
from engagements.evidence.facts import Curve, TraceFacts

__all__ = [
    "ceiling",
    "describe",
    "describe_audit",
    "estimate_history",
    "life",
    "measured_roof",
    "profiles",
    "ratio_distribution",
    "ratio_interval",
    "roofline",
    "shape_curves",
    "timeline",
    "upkeep",
    "wall_parts",
    "workload_bars",
]

Data = Mapping[str, Any]


def ratio_interval(record: Data, *, theme: Theme = "page") -> str:
    """The end-to-end ratio and each workload's, with intervals, against the target line.

    "" where no ratio was measured.
    """
    from engagements.charts import interval

    return interval.draw(record, theme)


def ratio_distribution(record: Data, *, theme: Theme = "page") -> str:
    """Every round's ratio, a row a replicate, a panel a workload. "" where none is believed."""
    from engagements.charts import distribution

    return distribution.draw(record, theme)


def workload_bars(record: Data, *, theme: Theme = "page") -> str:
    """Time of one end-to-end call, baseline and candidate, by workload. "" without times."""
    from engagements.charts import workloads

    return workloads.draw(record, theme)


def roofline(record: Data, *, theme: Theme = "page") -> str:
    """The operator alone on the roofline plane. "" where the operator was not measured."""
    from engagements.charts import roofs

    return roofs.draw(record, theme)


def estimate_history(progress: Data, *, target: float | None = None, theme: Theme = "page") -> str:
    """How the estimate and its interval closed in while a run went on. "" before the first."""
    from engagements.charts import history

    return history.draw(progress, target, theme)


def timeline(facts: TraceFacts, *, theme: Theme = "page") -> str:
    """When each family of kernels kept a device busy. "" without operations of a GPU."""
    from engagements.charts import lanes

    return lanes.draw(facts, theme)


def wall_parts(
    figures: HotFigures, *, least_share: float | None = None, theme: Theme = "page"
) -> str:
    """Where the wall-clock time goes, against the share that is wanted. "" where unknown."""
    from engagements.charts import parts

    return parts.draw(figures, theme, least_share)


def shape_curves(
    calls: Curve,
    time: Curve | None,
    *,
    wanted: tuple[int, float] | None = None,
    theme: Theme = "page",
) -> str:
    """What the most frequent shapes cover of calls and of time. "" without points."""
    from engagements.charts import coverage

    return coverage.draw(calls, time, theme, wanted)


def life(figures: LifeFigures, *, theme: Theme = "page") -> str:
    """Weeks of work against weeks of life, and the payback."""
    from engagements.charts import weeks

    return weeks.draw(figures, theme)


def upkeep(figures: UpkeepFigures, *, theme: Theme = "page") -> str:
    """Hours a month wanted against those there are. "" where none are wanted."""
    from engagements.charts import hours

    return hours.draw(figures, theme)


def profiles(compared: Comparison, *, theme: Theme = "page") -> str:
    """Two profiles by kernel family, before and after. "" where neither has any."""
    from engagements.charts import side_by_side

    return side_by_side.draw(compared, theme)


def ceiling(figures: CeilingFigures, *, theme: Theme = "page") -> str:
    """The end-to-end ratio over the kernel's speedup, to its ceiling. "" without a curve."""
    from engagements.charts import amdahl

    return amdahl.draw(figures, theme)
