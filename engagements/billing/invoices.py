"""Invoices: drafted from released milestones, issued in one act, corrected by credit notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone

from benchmarks.records.canonical import canonical, digest_of_bytes
from engagements.access import require_finance
from engagements.billing import issuing, parties, postings
from engagements.billing.models import Invoice, InvoiceLine
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import allocate, tax_on
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.engagement import stages
from engagements.engagement.models import Engagement
from engagements.people.models import User

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
        raise ApplicationError(
            "An invoice collects one or more milestones of one engagement.", code="billing.todo"
        )
    engagement = stages.locked(engagements.pop())
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
    stages.locked(invoice.engagement_id)
    row = Invoice.objects.filter(pk=invoice.pk).first()
    if row is None:
        return
    if row.is_issued:
        raise ApplicationError(
            f"{row.reference} is issued: a credit note corrects it.", code="billing.todo"
        )
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
    except ApplicationError as refused:
        obstacle = str(refused)
    facts = parties.compose(invoice, lines)
    return Preview(facts=facts, seen=digest_of_bytes(canonical(facts)), obstacle=obstacle)


@transaction.atomic
def issue(*, invoice: Invoice, by: User, seen: str | None = None) -> Invoice:
    """Number, date and freeze a draft. Issued already, it is returned as it is.

    With `seen`, the digest of a preview, it is refused when it would say something else now.
    """
    engagement = stages.locked(invoice.engagement_id)
    require_finance(by)
    row = issuing.read(invoice, engagement)
    if row.is_issued:
        return row
    _require_vat_id(row)
    lines = list(row.lines.all())
    for line in lines:
        _require_released(line.milestone)
    if seen is not None and seen != preview(invoice=row).seen:
        raise ApplicationError(
            "The invoice would say something else by now: look at it again.", code="billing.todo"
        )
    issuing.number(row, lines, by)
    now = timezone.now()
    for line in lines:
        line.milestone.state = Milestone.State.BILLED
        line.milestone.billed_at, line.milestone.billing_reference = now, row.reference
        validation.save_validated(line.milestone)
    issuing.tell(row, engagement, by)
    postings.invoice_issued(row)
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
    validation.save_validated(invoice)
    taxes = allocate(tax, [row.amount for row in rows], contract.currency)
    for position, (row, part) in enumerate(zip(rows, taxes, strict=True), start=1):
        validation.save_validated(
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
        raise ApplicationError(
            f"“{milestone.title}” stands on another draft already.", code="billing.todo"
        )


def _require_released(milestone: Milestone) -> None:
    if milestone.state == Milestone.State.BILLED:
        raise ApplicationError(
            f"“{milestone.title}” was billed already, as {milestone.billing_reference}.",
            code="billing.todo",
        )
    if milestone.state != Milestone.State.RELEASED:
        state = Milestone.State(milestone.state).label.lower()
        raise ApplicationError(
            f"“{milestone.title}” is {state}: only a released milestone is billed.",
            code="billing.todo",
        )


def _require_vat_id(invoice: Invoice) -> None:
    """Who owes the tax in the place of the house is named by it: the law and EN 16931 want it."""
    is_reversed = (
        invoice.contract_version.tax_treatment == ContractVersion.TaxTreatment.REVERSE_CHARGE
    )
    if is_reversed and not invoice.customer.vat_id:
        raise ApplicationError(
            "With reverse charge the invoice names the customer's VAT id, and "
            f"{invoice.customer} has none: enter it first.",
            code="billing.todo",
        )
