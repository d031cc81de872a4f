"""Kinds of documents, their subjects, and the documents that are due but not issued.

A kind is a package with `NOUN`, `compose(subject)` and `due()`, imported on first use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from engagements.documents.models import Document
from engagements.documents.renderable import RenderableDocument

_MODULES = {
    Document.Kind.AUDIT_REPORT: "engagements.audit.report",
    Document.Kind.AUDIT_ORDER: "engagements.orders.document",
    Document.Kind.CONTRACT: "engagements.contracts.document",
    Document.Kind.COMPLETION_CERTIFICATE: "engagements.contracts.completion",
    Document.Kind.BENCHMARK_REPORT: "engagements.runs.report",
    Document.Kind.INVOICE: "engagements.billing.document",
    Document.Kind.CREDIT_NOTE: "engagements.billing.credit_note_document",
    Document.Kind.SETTLEMENT_STATEMENT: "engagements.settlements.statement",
}


@dataclass(frozen=True)
class Subject:
    """The row that a document is issued for, as text: "audit:3", "contract:17:accepted".

    `act` names a moment in the row's life where a kind issues one document for each.
    """

    noun: str
    pk: int
    act: str = ""

    @classmethod
    def read(cls, text: str) -> Subject:
        """Parse a subject. ValueError unless it is noun:key or noun:key:act."""
        noun, key, act = (*text.split(":"), "", "")[:3]
        if not noun or not key.isdecimal() or str(cls(noun, int(key), act)) != text:
            raise ValueError(f"{text!r} is not a document's subject, such as contract:17.")
        return cls(noun, int(key), act)

    def __str__(self) -> str:
        return ":".join(part for part in (self.noun, str(self.pk), self.act) if part)


class KindOfDocument(Protocol):
    """Interface of a kind's package."""

    NOUN: str

    def compose(self, subject: Subject) -> RenderableDocument:
        """Collect the document's facts. ApplicationError when it is not due yet."""

    def due(self) -> Iterator[Subject]:
        """Yield every subject that should have been issued by now."""


def kind_of(name: str) -> KindOfDocument:
    """Import the package of a kind (a Document.Kind value). ValueError for any other."""
    return cast(KindOfDocument, import_module(_MODULES[Document.Kind(name)]))


def missing() -> list[tuple[str, str]]:
    """List (kind, subject) of every document that is due and not issued."""
    wanted: list[tuple[str, str]] = []
    for kind in _MODULES:
        issued = set(Document.objects.filter(kind=kind).values_list("subject", flat=True))
        due = (str(subject) for subject in kind_of(kind).due())
        wanted += [(kind.value, subject) for subject in due if subject not in issued]
    return wanted
