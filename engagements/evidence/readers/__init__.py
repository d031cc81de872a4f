"""Evidence: what profiles and traffic logs say, as facts. No database and no Django in here.

`read(source, name=...)` recognises a file by its content and returns `TraceFacts`,
`ComputeFacts` or `TrafficFacts`. Whatever is wrong with a file is an `EvidenceError` of one
line.
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
