"""The kinds of documents, by dotted name: a kind is imported when it is first needed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Protocol, cast

from engagements.documents.models import Document
from engagements.documents.renderable import RenderableDocument
from engagements.documents.subjects import Subject

_MODULES = {
    Document.Kind.AUDIT_REPORT: "engagements.audit.report",
    Document.Kind.CONTRACT: "engagements.contracts.document",
    Document.Kind.BENCHMARK_REPORT: "engagements.runs.report",
    Document.Kind.INVOICE: "engagements.billing.document",
    Document.Kind.CREDIT_NOTE: "engagements.billing.credit_note_document",
    Document.Kind.SETTLEMENT_STATEMENT: "engagements.settlements.statement",
}


class KindOfDocument(Protocol):
    """What each package offers."""

    NOUN: str

    def compose(self, subject: Subject) -> RenderableDocument:
        """The facts of the document. Refused when it is not due yet."""

    def due(self) -> Iterator[Subject]:
        """Every subject that this kind should have been issued for by now."""


def kind_of(name: str) -> KindOfDocument:
    """The package of a kind (a Document.Kind value). ValueError for any other."""
    return cast(KindOfDocument, import_module(_MODULES[Document.Kind(name)]))


def all_kinds() -> list[Document.Kind]:
    """Every kind there is."""
    return list(_MODULES)
