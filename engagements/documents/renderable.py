"""A document before rendering: its facts, its template and its attachments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from engagements.engagement.models import Engagement


@dataclass(frozen=True)
class Enclosure:
    """A file attached to the PDF, byte for byte as sealed or recorded.

    `relationship` is the PDF term: Source or Alternative.
    """

    name: str
    content: bytes
    description: str
    relationship: str = "Source"


@dataclass(frozen=True)
class RenderableDocument:
    """Everything that a PDF is rendered from; equal values give equal bytes.

    `dated` comes from the row, never from the clock. `seal` is the digest in the footer
    ("sha256:…") and `sealed` names what was digested. `variant` is a PDF standard by its name in
    WeasyPrint, `xmp` further metadata as RDF.
    `is_countersignable` adds an empty signature field for the customer.
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
    is_countersignable: bool = False
    variant: str = "pdf/ua-1"
    xmp: tuple[bytes, ...] = field(default=())
