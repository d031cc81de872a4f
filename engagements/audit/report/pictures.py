"""The report's pictures as data: addresses, each with its words."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from engagements.audit.charts import of_finding
from engagements.audit.report.sections import Section


@dataclass(frozen=True)
class Picture:
    """An <img> of the document: a data: address, the alt text, title and caption."""

    source: str
    words: str
    title: str
    caption: str


def of(section: Section) -> Picture | None:
    """The picture of a check, None where it has none."""
    told = section.picture
    if section.computed is None or told is None:
        return None
    svg = of_finding.draw(section.computed, section.thresholds, theme="print")
    if not svg:
        return None
    encoded = base64.b64encode(svg.encode()).decode()
    return Picture(f"data:image/svg+xml;base64,{encoded}", told.words, told.title, told.caption)
