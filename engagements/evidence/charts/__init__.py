"""Charts of profiles and traffic, as SVG. matplotlib is imported with the first chart."""

from __future__ import annotations

from engagements.charts import IMPORT_LOCK
from engagements.charts.palette import Theme
from engagements.evidence.charts import texts
from engagements.evidence.readers.comparison import Comparison
from engagements.evidence.readers.facts import Curve, TraceFacts

__all__ = ["profiles", "shape_curves", "texts", "timeline"]


def timeline(facts: TraceFacts, *, theme: Theme = "page") -> str:
    """Draw the busy time of each kernel family over the window. "" without GPU activity."""
    with IMPORT_LOCK:
        from engagements.evidence.charts import lanes

    return lanes.draw(facts, theme)


def shape_curves(
    calls: Curve,
    time: Curve | None,
    *,
    wanted: tuple[int, float] | None = None,
    theme: Theme = "page",
) -> str:
    """Draw the coverage of calls and time by the most frequent shapes. "" without points."""
    with IMPORT_LOCK:
        from engagements.evidence.charts import coverage

    return coverage.draw(calls, time, wanted, theme)


def profiles(compared: Comparison, *, theme: Theme = "page") -> str:
    """Draw two profiles by kernel family, before and after. "" without families."""
    with IMPORT_LOCK:
        from engagements.evidence.charts import side_by_side

    return side_by_side.draw(compared, theme)
