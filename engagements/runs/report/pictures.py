"""Charts of the report as data: URLs with alt texts."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, NamedTuple

from engagements import charts


class Picture(NamedTuple):
    """An <img>: `source` is a data: URL, `words` the alt text. Falsy when not drawn."""

    source: str
    words: str

    def __bool__(self) -> bool:
        return bool(self.source)


def of(record: Mapping[str, Any]) -> dict[str, Picture]:
    """Return the charts of the report by name."""
    return {
        "interval": _picture(
            charts.ratio_interval(record, theme="print"), charts.describe.ratio_interval(record)
        ),
        "distribution": _picture(
            charts.ratio_distribution(record, theme="print"),
            charts.describe.ratio_distribution(record),
        ),
        "roofline": _picture(
            charts.roofline(record, theme="print"), charts.describe.roofline(record)
        ),
    }


def has_roof(record: Mapping[str, Any]) -> bool:
    """Return whether the run measured the device's limits."""
    return charts.measured_roof(record) is not None


def _picture(svg: str, words: str) -> Picture:
    if not svg:
        return Picture("", words)
    encoded = base64.b64encode(svg.encode()).decode()
    return Picture(f"data:image/svg+xml;base64,{encoded}", words)
