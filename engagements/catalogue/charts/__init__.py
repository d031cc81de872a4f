"""Charts of the catalogue's records, as SVG. matplotlib is imported with the first chart."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.published.reports import Report
from engagements.catalogue.charts import texts
from engagements.charts import IMPORT_LOCK
from engagements.charts.palette import Theme

__all__ = ["catalogue_ratios", "catalogue_roofline", "texts"]


def catalogue_roofline(found: Sequence[Report], *, theme: Theme = "page") -> str:
    """Draw all kernels of the catalogue's records on one roofline. "" without data."""
    with IMPORT_LOCK:
        from engagements.catalogue.charts import records as catalogue

    return catalogue.roofline(found, theme)


def catalogue_ratios(found: Sequence[Report], *, theme: Theme = "page") -> str:
    """Draw every record's end-to-end ratio with its interval. "" without ratios."""
    with IMPORT_LOCK:
        from engagements.catalogue.charts import records as catalogue

    return catalogue.ratios(found, theme)
