"""Charts of measurements as SVG, for pages and documents.

Pure functions: a record (or a run's progress) in, an SVG string out. `theme` is

- "page", "page_narrow" (for a phone): colours are the page's own custom properties, so that an
  inline SVG follows the light and the dark theme,
- "light", "dark", "print": fixed colours, for an <img>,
- "light_narrow", "dark_narrow": the same for a phone, half as wide.

Every SVG carries role, <title> and <desc>; `describe` holds the same words for an alt
attribute. matplotlib is imported on the first picture and never by importing this package.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Mapping
from typing import Any

from engagements.charts import describe
from engagements.charts.limits import measured_roof
from engagements.charts.palette import Theme

__all__ = [
    "IMPORT_LOCK",
    "describe",
    "drawing",
    "estimate_history",
    "measured_roof",
    "ratio_distribution",
    "ratio_interval",
    "roofline",
    "workload_bars",
]

Data = Mapping[str, Any]

# A page asks for its pictures all at once: threads that import parts of matplotlib crosswise
# would see it half made.
IMPORT_LOCK = threading.Lock()


def drawing(module: str, *data: Any) -> Callable[[Theme], str]:
    """Return a function that imports `module` on its first call and draws `data` in a theme."""

    def draw(theme: Theme) -> str:
        with IMPORT_LOCK:
            drawn_by = importlib.import_module(module)
        return str(drawn_by.draw(*data, theme))

    return draw


def ratio_interval(record: Data, *, theme: Theme = "page") -> str:
    """The end-to-end ratio and each workload's, with intervals, against the target line.

    "" where no ratio was measured.
    """
    with IMPORT_LOCK:
        from engagements.charts import interval

    return interval.draw(record, theme)


def ratio_distribution(record: Data, *, theme: Theme = "page") -> str:
    """Every round's ratio, a row a replicate, a panel a workload. "" where none is believed."""
    with IMPORT_LOCK:
        from engagements.charts import distribution

    return distribution.draw(record, theme)


def workload_bars(record: Data, *, theme: Theme = "page") -> str:
    """Time of one end-to-end call, baseline and candidate, by workload. "" without times."""
    with IMPORT_LOCK:
        from engagements.charts import workloads

    return workloads.draw(record, theme)


def roofline(record: Data, *, theme: Theme = "page") -> str:
    """The operator alone on the roofline plane. "" where the operator was not measured."""
    with IMPORT_LOCK:
        from engagements.charts import roofs

    return roofs.draw(record, theme)


def estimate_history(progress: Data, *, target: float | None = None, theme: Theme = "page") -> str:
    """The estimate and its interval during a run. "" before the first estimate."""
    with IMPORT_LOCK:
        from engagements.charts import history

    return history.draw(progress, target, theme)
