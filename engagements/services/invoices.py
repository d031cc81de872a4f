"""Invoices: drafted from released milestones, issued in one act, corrected by credit notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone

from benchmarks.harness.records.canonical import canonical, digest_of_bytes
from engagements import faults
from engagements.errors import Refused
from engagements.ledger import postings
from engagements.models import ContractVersion, Engagement, Invoice, InvoiceLine, Milestone, User
from engagements.money import allocate, tax_on
from engagements.services import checked, invoice_facts, invoice_issuing, lifecycle
from engagements.services.credit_notes import credit, credited_net, preview_credit
from engagements.services.milestones import require_finance

__all__ = [
    "Preview",
    "credit",
    "credited_net",
    "discard",
    "draft",
    "issue",
    "preview",
    "preview_credit",
]

State = Invoice.State


@dataclass(frozen=True)
class Preview:
    """A draft as it would be issued now; `obstacle` says why it cannot be, if so."""

    facts: dict[str, Any]
    seen: str
    obstacle: str


@transaction.atomic
def draft(*, milestones: Sequence[Milestone], by: User) -> Invoice:
    """Collect released milestones of one engagement on a draft, which takes no number.

    The same milestones collected again are the same draft.
    """
    require_finance(by)
    engagements = {milestone.contract_version.engagement_id for milestone in milestones}
    if len(engagements) != 1:
        raise Refused("An invoice collects one or more milestones of one engagement.")
    engagement = lifecycle.locked(engagements.pop())
    rows = list(
        Milestone.objects.filter(pk__in=[milestone.pk for milestone in milestones])
        .select_related("contract_version")
        .order_by("contract_version__number", "position")
    )
    known = _known_draft(rows)
    if known:
        return known
    for row in rows:
        _require_to_bill(row)
    return _collected(rows, engagement, by)


@transaction.atomic
def discard(*, invoice: Invoice, by: User) -> None:
    """Throw a draft away, so that another may collect its milestones; once gone, it is gone."""
    require_finance(by)
    lifecycle.locked(invoice.engagement_id)
    row = Invoice.objects.filter(pk=invoice.pk).first()
    if row is None:
        return
    if row.is_issued:
        raise Refused(f"{row.reference} is issued: a credit note corrects it.")
    row.delete()


def preview(*, invoice: Invoice) -> Preview:
    """What issuing a draft now would say, with the digest that `issue` compares.

    It reads the row as it was handed in, so that a list of drafts is read at once.
    """
    lines = list(invoice.lines.all())
    obstacle = ""
    try:
        _require_vat_id(invoice)
        for line in lines:
            _require_released(line.milestone)
    except Refused as refused:
        obstacle = str(refused)
    facts = invoice_facts.compose(invoice, lines)
    return Preview(facts=facts, seen=digest_of_bytes(canonical(facts)), obstacle=obstacle)


@transaction.atomic
def issue(*, invoice: Invoice, by: User, seen: str | None = None) -> Invoice:
    """Number, date and freeze a draft. Issued already, it is returned as it is.

    With `seen`, the digest of a preview, it is refused when it would say something else now.
    """
    engagement = lifecycle.locked(invoice.engagement_id)
    require_finance(by)
    row = invoice_issuing.read(invoice, engagement)
    if row.is_issued:
        return row
    _require_vat_id(row)
    lines = list(row.lines.all())
    for line in lines:
        _require_released(line.milestone)
    if seen is not None and seen != preview(invoice=row).seen:
        raise Refused("The invoice would say something else by now: look at it again.")
    invoice_issuing.number(row, lines, by)
    faults.point("issue_invoice.numbered_and_frozen")
    now = timezone.now()
    for line in lines:
        line.milestone.state = Milestone.State.BILLED
        line.milestone.billed_at, line.milestone.billing_reference = now, row.reference
        checked.save(line.milestone)
        faults.point("issue_invoice.milestone_billed")
    invoice_issuing.tell(row, engagement, by)
    faults.point("issue_invoice.told")
    postings.invoice_issued(row)
    faults.point("issue_invoice.posted")
    return row


def _collected(rows: Sequence[Milestone], engagement: Engagement, by: User) -> Invoice:
    # An amendment changes neither currency nor tax; what else it changes counts from now on.
    contract = rows[-1].contract_version
    net = sum((row.amount for row in rows), Decimal(0))
    tax = tax_on(net, contract.tax_rate_percent, contract.currency)
    invoice = Invoice(
        engagement=engagement,
        contract_version=contract,
        customer=engagement.customer,
        currency=contract.currency,
        net=net,
        tax=tax,
        gross=net + tax,
        drafted_by=by,
    )
    checked.save(invoice)
    taxes = allocate(tax, [row.amount for row in rows], contract.currency)
    for position, (row, part) in enumerate(zip(rows, taxes, strict=True), start=1):
        checked.save(
            InvoiceLine(
                invoice=invoice,
                position=position,
                milestone=row,
                title=row.title,
                net=row.amount,
                tax_rate_percent=contract.tax_rate_percent,
                tax=part,
            )
        )
    return invoice


def _known_draft(milestones: Sequence[Milestone]) -> Invoice | None:
    drafts = Invoice.objects.filter(state=State.DRAFT, lines__milestone__in=milestones).distinct()
    wanted = {milestone.pk for milestone in milestones}
    for row in drafts:
        if {line.milestone_id for line in row.lines.all()} == wanted:
            return row
    return None


def _require_to_bill(milestone: Milestone) -> None:
    _require_released(milestone)
    drafted = milestone.invoice_lines.filter(corrects=None, invoice__state=State.DRAFT)
    if drafted.exists():
        raise Refused(f"“{milestone.title}” stands on another draft already.")


def _require_released(milestone: Milestone) -> None:
    if milestone.state == Milestone.State.BILLED:
        raise Refused(f"“{milestone.title}” was billed already, as {milestone.billing_reference}.")
    if milestone.state != Milestone.State.RELEASED:
        state = Milestone.State(milestone.state).label.lower()
        raise Refused(f"“{milestone.title}” is {state}: only a released milestone is billed.")


def _require_vat_id(invoice: Invoice) -> None:
    """Who owes the tax in the place of the house is named by it: the law and EN 16931 want it."""
    is_reversed = (
        invoice.contract_version.tax_treatment == ContractVersion.TaxTreatment.REVERSE_CHARGE
    )
    if is_reversed and not invoice.customer.vat_id:
        raise Refused(
            "With reverse charge the invoice names the customer's VAT id, and "
            f"{invoice.customer} has none: enter it first."
        )
