"""Reads of billing: milestones to bill, drafts, an engagement's invoices and their PDFs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING

from django.db.models import Exists, Min, OuterRef, Q, QuerySet

from engagements.billing.balances import issued_invoices
from engagements.billing.milestones import MilestoneLine, lines_of
from engagements.billing.models import Invoice, InvoiceLine
from engagements.contracts.milestones.models import Milestone
from engagements.documents.models import Document
from engagements.engagement.models import Engagement

if TYPE_CHECKING:
    from engagements.billing.balances import InvoiceWithBalance


@dataclass(frozen=True)
class ToBill:
    """The released milestones of one engagement that are on no invoice."""

    engagement: Engagement
    lines: list[MilestoneLine]

    @property
    def currency(self) -> str:
        """The contract's currency, which amendments do not change."""
        return self.lines[0].currency

    @property
    def gross(self) -> Decimal:
        """The total including tax, each line rounded by itself."""
        return sum((line.gross for line in self.lines), Decimal(0))


def engagements_to_bill() -> QuerySet[Engagement]:
    """Engagements with undrafted released milestones, the longest released first."""
    # One pass over the released milestones instead of a subquery for each engagement.
    drafted = InvoiceLine.objects.filter(
        milestone=OuterRef("contracts__milestones"), invoice__state=Invoice.State.DRAFT
    )
    return (
        Engagement.objects.filter(
            ~Exists(drafted), contracts__milestones__state=Milestone.State.RELEASED
        )
        .annotate(released_at=Min("contracts__milestones__released_at"))
        .order_by("released_at", "pk")
    )


def to_bill(engagements: Iterable[Engagement]) -> list[ToBill]:
    """The undrafted released milestones of `engagements`, in their order."""
    order = {engagement.pk: at for at, engagement in enumerate(engagements)}
    lines = lines_of(_undrafted().filter(contract_version__engagement__in=order))
    lines.sort(
        key=lambda line: (
            order[line.milestone.contract_version.engagement_id],
            line.milestone.contract_version.number,
            line.milestone.position,
        )
    )
    groups = groupby(lines, key=lambda line: line.milestone.contract_version.engagement)
    return [ToBill(engagement, list(group)) for engagement, group in groups]


def _undrafted() -> QuerySet[Milestone]:
    drafted = Q(invoice_lines__invoice__state=Invoice.State.DRAFT)
    return Milestone.objects.filter(state=Milestone.State.RELEASED).exclude(drafted)


def drafts() -> QuerySet[Invoice]:
    """Draft invoices, the oldest first."""
    return (
        Invoice.objects.filter(kind=Invoice.Kind.INVOICE, state=Invoice.State.DRAFT)
        .select_related("customer", "engagement", "contract_version", "corrects", "drafted_by")
        .prefetch_related("lines__milestone__contract_version")
        .order_by("drafted_at", "pk")
    )


def invoices_of(engagement: Engagement) -> QuerySet[InvoiceWithBalance]:
    """An engagement's issued invoices with balance and credit notes, by date."""
    return (
        issued_invoices()
        .filter(engagement=engagement)
        .prefetch_related("lines", "credit_notes")
        .order_by("issued_on", "pk")
    )


def invoices_of_all(engagements: QuerySet[Engagement]) -> QuerySet[InvoiceWithBalance]:
    """The issued invoices of several engagements with their balance, newest first."""
    return (
        issued_invoices()
        .filter(engagement__in=engagements)
        .select_related("engagement")
        .prefetch_related("credit_notes")
        .order_by("-issued_on", "-pk")
    )


def documents_by_subject(engagement: Engagement) -> dict[str, Document]:
    """An engagement's invoice and credit note PDFs by subject, without content."""
    kinds = (Document.Kind.INVOICE, Document.Kind.CREDIT_NOTE)
    rows = Document.objects.filter(engagement=engagement, kind__in=kinds).defer("content")
    return {row.subject: row for row in rows}


def document_of(invoice: Invoice) -> Document | None:
    """The PDF of an invoice or credit note without content; None until it is rendered."""
    documents = Document.objects.filter(kind=invoice.kind, subject=f"invoice:{invoice.pk}")
    return documents.defer("content").first()
