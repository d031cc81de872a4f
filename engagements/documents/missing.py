"""Which documents should exist and do not: what the sweep issues."""

from __future__ import annotations

from engagements.documents import kinds
from engagements.documents.models import Document


def missing() -> list[tuple[str, str]]:
    """(kind, subject) of every document that is due and has not been issued."""
    wanted: list[tuple[str, str]] = []
    for kind in kinds.all_kinds():
        issued = set(Document.objects.filter(kind=kind).values_list("subject", flat=True))
        due = (str(subject) for subject in kinds.kind_of(kind).due())
        wanted += [(kind.value, subject) for subject in due if subject not in issued]
    return wanted
