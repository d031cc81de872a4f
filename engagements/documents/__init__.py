"""Documents: PDFs issued once, stored with their SHA-256 and never rendered again.

One package a kind (see `registry`): `compose` collects the facts, `render` lays them out,
`signature` signs, `issuing` stores. WeasyPrint is imported only by the worker that renders.
"""

from engagements.documents.issuing import issue
from engagements.documents.registry import missing

__all__ = ["issue", "missing"]
