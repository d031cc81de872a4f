"""Pictures of what was measured, as SVG, for the pages and for the documents alike.

Pure functions: a record (or a run's progress) in, an SVG string out. `theme` is

- "page", "page_narrow" (for a phone): colours are the page's own custom properties, so that an
  inline SVG follows the light and the dark theme,
- "light", "dark", "print": fixed colours, for an <img>,
- "light_narrow", "dark_narrow": the same for a phone, half as wide.

Every SVG carries role, <title> and <desc>; `describe` holds the same words for an alt
attribute. matplotlib is imported on the first picture and never by importing this package.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchmarks.published.reports import Report
from engagements.audit.figures import CeilingFigures, HotFigures, LifeFigures, UpkeepFigures
from engagements.charts import describe, describe_audit, describe_catalogue
from engagements.charts.limits import measured_roof
from engagements.charts.palette import Theme
from engagements.evidence.comparison import Comparison
from engagements.evidence.facts import Curve, TraceFacts

if TYPE_CHECKING:
    from engagements.queries.burn_down import BurnDown

__all__ = [
    "burn_down",
    "catalogue_ratios",
    "catalogue_roofline",
    "ceiling",
    "describe",
    "describe_audit",
    "describe_catalogue",
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

# A page asks for its pictures all at once: threads that import parts of matplotlib crosswise
# would see it half made.
_IMPORTING = threading.Lock()


def ratio_interval(record: Data, *, theme: Theme = "page") -> str:
    """The end-to-end ratio and each workload's, with intervals, against the target line.

    "" where no ratio was measured.
    """
    with _IMPORTING:
        from engagements.charts import interval

    return interval.draw(record, theme)


def ratio_distribution(record: Data, *, theme: Theme = "page") -> str:
    """Every round's ratio, a row a replicate, a panel a workload. "" where none is believed."""
    with _IMPORTING:
        from engagements.charts import distribution

    return distribution.draw(record, theme)


def workload_bars(record: Data, *, theme: Theme = "page") -> str:
    """Time of one end-to-end call, baseline and candidate, by workload. "" without times."""
    with _IMPORTING:
        from engagements.charts import workloads

    return workloads.draw(record, theme)


def roofline(record: Data, *, theme: Theme = "page") -> str:
    """The operator alone on the roofline plane. "" where the operator was not measured."""
    with _IMPORTING:
        from engagements.charts import roofs

    return roofs.draw(record, theme)


def estimate_history(progress: Data, *, target: float | None = None, theme: Theme = "page") -> str:
    """How the estimate and its interval closed in while a run went on. "" before the first."""
    with _IMPORTING:
        from engagements.charts import history

    return history.draw(progress, target, theme)


def timeline(facts: TraceFacts, *, theme: Theme = "page") -> str:
    """When each family of kernels kept a device busy. "" without operations of a GPU."""
    with _IMPORTING:
        from engagements.charts import lanes

    return lanes.draw(facts, theme)


def wall_parts(
    figures: HotFigures, *, least_share: float | None = None, theme: Theme = "page"
) -> str:
    """Where the wall-clock time goes, against the share that is wanted. "" where unknown."""
    with _IMPORTING:
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
    with _IMPORTING:
        from engagements.charts import coverage

    return coverage.draw(calls, time, theme, wanted)


def life(figures: LifeFigures, *, theme: Theme = "page") -> str:
    """Weeks of work against weeks of life, and the payback."""
    with _IMPORTING:
        from engagements.charts import weeks

    return weeks.draw(figures, theme)


def upkeep(figures: UpkeepFigures, *, theme: Theme = "page") -> str:
    """Hours a month wanted against those there are. "" where none are wanted."""
    with _IMPORTING:
        from engagements.charts import hours

    return hours.draw(figures, theme)


def profiles(compared: Comparison, *, theme: Theme = "page") -> str:
    """Two profiles by kernel family, before and after. "" where neither has any."""
    with _IMPORTING:
        from engagements.charts import side_by_side

    return side_by_side.draw(compared, theme)


def ceiling(figures: CeilingFigures, *, theme: Theme = "page") -> str:
    """The end-to-end ratio over the kernel's speedup, to its ceiling. "" without a curve."""
    with _IMPORTING:
        from engagements.charts import amdahl

    return amdahl.draw(figures, theme)


def catalogue_roofline(found: Sequence[Report], *, theme: Theme = "page") -> str:
    """Every kernel of the catalogue's records on one roofline. "" where none is known."""
    with _IMPORTING:
        from engagements.charts import catalogue

    return catalogue.roofline(found, theme)


def catalogue_ratios(found: Sequence[Report], *, theme: Theme = "page") -> str:
    """Every record's end-to-end ratio with its interval. "" without ratios."""
    with _IMPORTING:
        from engagements.charts import catalogue

    return catalogue.ratios(found, theme)


def burn_down(data: BurnDown, *, theme: Theme = "page") -> str:
    """The days of a time-box as they run down, and the hours put in."""
    with _IMPORTING:
        from engagements.charts import days_left

    return days_left.draw(data, theme)
