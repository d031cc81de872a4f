"""Charts of findings, as SVG. matplotlib is imported with the first chart."""

from __future__ import annotations

from engagements.audit.charts import texts
from engagements.audit.rules.figures import CeilingFigures, HotFigures, LifeFigures, UpkeepFigures
from engagements.charts import IMPORT_LOCK
from engagements.charts.palette import Theme

__all__ = ["ceiling", "life", "texts", "upkeep", "wall_parts"]


def wall_parts(
    figures: HotFigures, *, least_share: float | None = None, theme: Theme = "page"
) -> str:
    """Where the wall-clock time goes, against the share that is wanted. "" where unknown."""
    with IMPORT_LOCK:
        from engagements.audit.charts import parts

    return parts.draw(figures, theme, least_share)


def life(figures: LifeFigures, *, theme: Theme = "page") -> str:
    """Weeks of work against weeks of life, and the payback."""
    with IMPORT_LOCK:
        from engagements.audit.charts import weeks

    return weeks.draw(figures, theme)


def upkeep(figures: UpkeepFigures, *, theme: Theme = "page") -> str:
    """Hours a month wanted against those there are. "" where none are wanted."""
    with IMPORT_LOCK:
        from engagements.audit.charts import hours

    return hours.draw(figures, theme)


def ceiling(figures: CeilingFigures, *, theme: Theme = "page") -> str:
    """The end-to-end ratio over the kernel's speedup, to its ceiling. "" without a curve."""
    with IMPORT_LOCK:
        from engagements.audit.charts import amdahl

    return amdahl.draw(figures, theme)
