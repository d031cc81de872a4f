"""Documents: PDFs issued once, stored with their SHA-256 and never rendered again.

One package a kind, each with `compose(subject) -> RenderableDocument` (the facts and the template) and
`due() -> subjects` (what should exist by now). They are imported on first use; WeasyPrint and
matplotlib only when something is really render_pdf, which is the work of the documents worker.
"""

from engagements.documents.issuing import issue
from engagements.documents.missing import missing

__all__ = ["issue", "missing"]
