"""Reads of billing: milestones to bill, drafts, an engagement's invoices and their PDFs."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING

from django.db.models import Q, QuerySet

from engagements.billing.balances import issued_invoices
from engagements.billing.milestones import MilestoneLine, lines_of
from engagements.billing.models import Invoice
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


def to_bill() -> list[ToBill]:
    """Undrafted released milestones by engagement, the longest released first."""
    drafted = Q(invoice_lines__invoice__state=Invoice.State.DRAFT)
    released = Milestone.objects.filter(state=Milestone.State.RELEASED).exclude(drafted)
    lines = lines_of(released.order_by("released_at", "pk"))
    order = {
        line.milestone.contract_version.engagement_id: at for at, line in enumerate(lines[::-1])
    }
    lines.sort(
        key=lambda line: (
            -order[line.milestone.contract_version.engagement_id],
            line.milestone.contract_version.number,
            line.milestone.position,
        )
    )
    groups = groupby(lines, key=lambda line: line.milestone.contract_version.engagement)
    return [ToBill(engagement, list(group)) for engagement, group in groups]


def drafts() -> QuerySet[Invoice]:
    """Draft invoices, the oldest first."""
    return (
        Invoice.objects.filter(state=Invoice.State.DRAFT)
        .select_related("customer", "engagement", "contract_version", "corrects", "drafted_by")
        .prefetch_related("lines__milestone")
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


def documents_by_subject(engagement: Engagement) -> dict[str, Document]:
    """An engagement's invoice and credit note PDFs by subject, without content."""
    kinds = (Document.Kind.INVOICE, Document.Kind.CREDIT_NOTE)
    rows = Document.objects.filter(engagement=engagement, kind__in=kinds).defer("content")
    return {row.subject: row for row in rows}


def document_of(invoice: Invoice) -> Document | None:
    """The PDF of an invoice or credit note without content; None until it is rendered."""
    documents = Document.objects.filter(kind=invoice.kind, subject=f"invoice:{invoice.pk}")
    return documents.defer("content").first()
