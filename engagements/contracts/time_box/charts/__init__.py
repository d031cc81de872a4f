"""Chart of the days and hours of a time-box, as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engagements.charts import IMPORT_LOCK
from engagements.charts.palette import Theme

if TYPE_CHECKING:
    from engagements.contracts.time_box.burn_down import BurnDown

__all__ = ["burn_down"]


def burn_down(data: BurnDown, *, theme: Theme = "page") -> str:
    """The days of a time-box as they run down, and the hours put in."""
    with IMPORT_LOCK:
        from engagements.contracts.time_box.charts import days_left

    return days_left.draw(data, theme)
