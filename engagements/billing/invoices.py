"""Invoices: draft from released milestones, preview, issue, discard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from benchmarks.records.canonical import canonical, digest_of_bytes
from engagements.access import require_finance
from engagements.audit.queries import unbilled_audits
from engagements.billing import invoice_facts, issuing, postings
from engagements.billing.models import Invoice, InvoiceLine
from engagements.billing.reopening import reopen
from engagements.charges.models import Charge
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.text import strip_invisible
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.contracts.taxes import taxes_of
from engagements.engagement import stages
from engagements.engagement.models import Engagement
from engagements.orders.models import AuditOrder
from engagements.people.models import User

Kind, State = Invoice.Kind, Invoice.State


@dataclass(frozen=True)
class Preview:
    """A draft as it would be issued now.

    `version` is the digest of `facts`; `blocking_reason` is empty if it can be issued.
    """

    facts: dict[str, Any]
    version: str
    blocking_reason: str


@transaction.atomic
def draft(*, milestones: Sequence[Milestone], by: User) -> Invoice:
    """Draft an invoice over released milestones of one engagement, without a number.

    Returns the existing draft for the same milestones.
    """
    require_finance(by)
    engagements = {milestone.contract_version.engagement_id for milestone in milestones}
    if len(engagements) != 1:
        raise ApplicationError(
            "Choose milestones of one engagement.", code="invoice.several_engagements"
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
        _require_released(row)
        _require_undrafted(row)
    return _new_draft(rows, engagement, by)


@transaction.atomic
def draft_order(*, order: AuditOrder, by: User) -> Invoice:
    """Draft an invoice over the accepted order of an audit that led to no contract.

    Returns the existing draft of the order.
    """
    require_finance(by)
    engagement = stages.locked(order.engagement_id)
    known = order.invoices.filter(kind=Kind.INVOICE, state=State.DRAFT).first()
    if known:
        return known
    _require_order_due(engagement)
    row = AuditOrder.objects.get(pk=order.pk)
    if row.state != AuditOrder.State.ACCEPTED:
        raise ApplicationError(
            "The customer has not accepted this audit order.", code="invoice.order_not_accepted"
        )
    known = billed_on(row)
    if known is not None:
        raise ApplicationError(
            f"This order is billed on {known.reference}. Waive the part that was credited, "
            "or credit the rest to bill the order again.",
            code="invoice.order_billed",
        )
    return draft_of_one_line(
        Invoice(
            engagement=engagement,
            audit_order=row,
            customer=engagement.customer,
            currency=row.currency,
            net=row.price,
            tax=row.gross - row.price,
            drafted_by=by,
        ),
        title="Audit",
        tax_rate_percent=row.tax_rate_percent,
    )


def draft_of_one_line(invoice: Invoice, *, title: str, tax_rate_percent: Decimal) -> Invoice:
    """Save a draft whose only line has its net and tax."""
    invoice.gross = invoice.net + invoice.tax
    validation.save_validated(invoice)
    line = InvoiceLine(
        invoice=invoice,
        position=1,
        title=title,
        net=invoice.net,
        tax_rate_percent=tax_rate_percent,
        tax=invoice.tax,
    )
    validation.save_validated(line)
    return invoice


@transaction.atomic
def discard(*, invoice: Invoice, by: User) -> None:
    """Delete a draft, so that its milestones can be drafted again. Idempotent."""
    require_finance(by)
    engagement = stages.locked(invoice.engagement_id)
    row = Invoice.objects.filter(pk=invoice.pk).first()
    if row is None:
        return
    if row.is_issued:
        raise ApplicationError(
            f"{row.reference} is already issued; correct it with a credit note.",
            code="invoice.already_issued",
        )
    issuing.discard(row, engagement, by)


@transaction.atomic
def set_purchase_order(*, invoice: Invoice, text: str, by: User) -> Invoice:
    """Set the customer's order number on a draft; empty for none."""
    require_finance(by)
    engagement = stages.locked(invoice.engagement_id)
    row = issuing.reload(invoice, engagement)
    if row.is_issued:
        raise ApplicationError(
            f"{row.reference} is already issued; correct it with a credit note.",
            code="invoice.already_issued",
        )
    row.purchase_order = strip_invisible(text)
    validation.save_validated(row)
    return row


def preview(*, invoice: Invoice) -> Preview:
    """Preview a draft, from the row as passed in."""
    lines = list(invoice.lines.all())
    blocking_reason = ""
    try:
        _require_vat_id(invoice)
        for line in lines:
            _require_billable(line, invoice.engagement)
    except ApplicationError as error:
        blocking_reason = str(error)
    facts = invoice_facts.compose(invoice, lines)
    version = digest_of_bytes(canonical(facts))
    return Preview(facts=facts, version=version, blocking_reason=blocking_reason)


@transaction.atomic
def issue(*, invoice: Invoice, by: User, expected_version: str | None = None) -> Invoice:
    """Number, date and freeze a draft. Idempotent.

    `expected_version` is that of the preview shown; a changed draft is declined.
    """
    engagement = stages.locked(invoice.engagement_id)
    require_finance(by)
    row = issuing.reload(invoice, engagement)
    if row.is_issued:
        return row
    if row.is_credit_note:
        raise ApplicationError(
            "This is a draft credit note: issue it on its page.", code="invoice.is_credit_note"
        )
    _require_vat_id(row)
    lines = list(row.lines.all())
    for line in lines:
        _require_billable(line, engagement)
    if expected_version is not None and expected_version != preview(invoice=row).version:
        raise ApplicationError(
            "This invoice changed while you were looking; review it again.", code="invoice.stale"
        )
    issuing.number(row, lines, by)
    now = timezone.now()
    for milestone in [line.milestone for line in lines if line.milestone is not None]:
        milestone.state = Milestone.State.BILLED
        milestone.billed_at, milestone.billing_reference = now, row.reference
        validation.save_validated(milestone)
    issuing.record_issued(row, engagement, by)
    postings.invoice_issued(row)
    if row.charge_id:
        reopen(engagement, reason="a charge was invoiced", by=by)
    return row


def _new_draft(rows: Sequence[Milestone], engagement: Engagement, by: User) -> Invoice:
    # Amendments change neither currency nor tax; for the rest the latest version counts.
    contract = rows[-1].contract_version
    net = sum((row.amount for row in rows), Decimal(0))
    taxes = [taxes_of(row.contract_version)[row.pk] for row in rows]
    tax = sum(taxes, Decimal(0))
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
    drafts = Invoice.objects.filter(
        kind=Kind.INVOICE, state=State.DRAFT, lines__milestone__in=milestones
    ).distinct()
    wanted = {milestone.pk for milestone in milestones}
    for row in drafts:
        if {line.milestone_id for line in row.lines.all()} == wanted:
            return row
    return None


def _require_undrafted(milestone: Milestone) -> None:
    drafted = milestone.invoice_lines.filter(corrects=None, invoice__state=State.DRAFT)
    if drafted.exists():
        raise ApplicationError(
            f"“{milestone.title}” is already on another draft.", code="invoice.milestone_drafted"
        )


def _require_billable(line: InvoiceLine, engagement: Engagement) -> None:
    if line.milestone is not None:
        _require_released(line.milestone)
    elif line.invoice.charge is not None:
        _require_approved(line.invoice.charge)
    else:
        _require_order_due(engagement)


def _require_approved(charge: Charge) -> None:
    if charge.state != Charge.State.APPROVED:
        raise ApplicationError(
            f"“{charge.title}” was cancelled. Discard the draft.", code="invoice.charge_not_due"
        )


def _require_order_due(engagement: Engagement) -> None:
    if not unbilled_audits().filter(engagement=engagement).exists():
        raise ApplicationError(
            "An audit order is billed once its audit ended without a contract, unless the audit "
            "is billed or waived.",
            code="invoice.order_not_due",
        )


def billed_on(row: AuditOrder | Charge) -> Invoice | None:
    """The issued invoice of an order or a charge that is not credited in full."""
    for invoice in row.invoices.filter(kind=Kind.INVOICE, state=State.ISSUED):
        notes = invoice.credit_notes.filter(state=State.ISSUED)
        if (notes.aggregate(net=Sum("net"))["net"] or 0) < invoice.net:
            return invoice
    return None


def _require_released(milestone: Milestone) -> None:
    if milestone.state == Milestone.State.BILLED:
        raise ApplicationError(
            f"“{milestone.title}” is already billed on {milestone.billing_reference}.",
            code="invoice.milestone_billed",
        )
    if milestone.state != Milestone.State.RELEASED:
        state = Milestone.State(milestone.state).label.lower()
        raise ApplicationError(
            f"“{milestone.title}” is {state}. Only a released milestone can be billed.",
            code="invoice.milestone_not_released",
        )


def _require_vat_id(invoice: Invoice) -> None:
    # Required by Article 226 of the VAT Directive and by EN 16931.
    is_reversed = invoice.terms.tax_treatment == ContractVersion.TaxTreatment.REVERSE_CHARGE
    if is_reversed and not invoice.customer.vat_id:
        raise ApplicationError(
            f"Reverse charge requires a VAT ID. Enter that of {invoice.customer} first.",
            code="invoice.no_vat_id",
        )
