"""Readers of profiles and traffic logs, without database and Django.

`read(source, name=...)` recognises a file by its content and returns `TraceFacts`,
`ComputeFacts` or `TrafficFacts`. Every failure is an `EvidenceError` with a code and one line.
"""

from engagements.evidence.readers.errors import EvidenceError
from engagements.evidence.readers.facts import (
    ComputeFacts,
    Facts,
    TraceFacts,
    TrafficFacts,
    as_data,
    from_data,
)
from engagements.evidence.readers.reading import read

__all__ = [
    "ComputeFacts",
    "EvidenceError",
    "Facts",
    "TraceFacts",
    "TrafficFacts",
    "as_data",
    "from_data",
    "read",
]
