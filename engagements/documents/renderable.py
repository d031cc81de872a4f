"""A document before it is render_pdf: its facts, its template, and what is enclosed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from engagements.engagement.models import Engagement


@dataclass(frozen=True)
class Enclosure:
    """A file attached to the PDF, byte for byte what was sealed or recorded.

    `relationship` is what PDF calls it: the document's Source, or an Alternative to it.
    """

    name: str
    content: bytes
    description: str
    relationship: str = "Source"


@dataclass(frozen=True)
class RenderableDocument:
    """One document. The same paper always gives the same bytes.

    `dated` is the moment it speaks of, from the row, never the time of rendering. `seal` is
    the digest that runs in the footer ("sha256:…") and `sealed` names what it is of. What
    `is_signed` gets the consultancy's signature. `variant` is a standard by its name in
    WeasyPrint, `xmp` further metadata as RDF.
    """

    engagement: Engagement
    title: str
    running_title: str
    filename: str
    template: str
    dated: datetime
    seal: str
    sealed: str
    summary: str
    context: Mapping[str, Any]
    enclosures: tuple[Enclosure, ...] = field(default=())
    for_customer: bool = True
    is_signed: bool = False
    variant: str = "pdf/ua-1"
    xmp: tuple[bytes, ...] = field(default=())
