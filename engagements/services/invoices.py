"""Invoices: drafted from released milestones, issued in one act, corrected by credit notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone

from benchmarks.harness.canonical import canonical, digest_of_bytes
from engagements import faults
from engagements.errors import Refused
from engagements.ledger import postings
from engagements.models import Engagement, Invoice, InvoiceLine, Milestone, User
from engagements.money import allocate, format_money, quantize, tax_on
from engagements.services import (
    checked,
    credits,
    dispatch,
    events,
    invoice_facts,
    lifecycle,
    numbering,
)
from engagements.services.milestones import require_finance

Kind, State = Invoice.Kind, Invoice.State
SERIES = {Kind.INVOICE: "INV", Kind.CREDIT_NOTE: "CN"}


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
    row = _read(invoice, engagement)
    if row.is_issued:
        return row
    lines = list(row.lines.all())
    for line in lines:
        _require_released(line.milestone)
    if seen is not None and seen != preview(invoice=row).seen:
        raise Refused("The invoice would say something else by now: look at it again.")
    _number(row, lines, by)
    faults.point("issue_invoice.numbered_and_frozen")
    now = timezone.now()
    for line in lines:
        line.milestone.state = Milestone.State.BILLED
        line.milestone.billed_at, line.milestone.billing_reference = now, row.reference
        checked.save(line.milestone)
        faults.point("issue_invoice.milestone_billed")
    _tell(row, engagement, by)
    faults.point("issue_invoice.told")
    postings.invoice_issued(row)
    faults.point("issue_invoice.posted")
    return row


@transaction.atomic
def credit(
    *,
    invoice: Invoice,
    reason: str,
    by: User | None,
    net: Decimal | None = None,
    lines: Mapping[InvoiceLine, Decimal] | None = None,
    seen: Decimal | None = None,
    bill_again: bool = False,
) -> Invoice:
    """Issue a credit note over `net` (without tax) of an issued invoice: all that is left if None.

    Paid or not, what was received stays received. What is credited in full is owed no more; with
    `bill_again` its milestones may be billed anew, which wants an invoice without payments. `seen`
    is what had been credited (net) when whoever asks last looked: if that has changed, the same
    note is returned where it is the one asked for, and anything else is refused. Without `by` the
    application issues it.
    """
    engagement = lifecycle.locked(invoice.engagement_id)
    if by is not None:
        require_finance(by)
    why = checked.text(reason, noun="The reason for the credit note")
    original = _read(invoice, engagement)
    if not original.is_issued or original.is_credit_note:
        raise Refused("A credit note corrects an issued invoice.")
    known = _known_note(original, seen=seen, net=net, why=why)
    if known:
        return known
    if bill_again and original.payments.exists():
        raise Refused(f"Money was received for {original.reference}: it is not billed again.")
    parts = credits.split(
        list(original.lines.prefetch_related("credit_lines__invoice")),
        currency=original.currency,
        net=net,
        by_line=lines,
    )
    note, note_lines = _drafted_note(original, parts, why, by)
    faults.point("credit_invoice.drafted")
    _number(note, note_lines, by)
    faults.point("credit_invoice.numbered_and_frozen")
    _release_or_void([part.line.milestone for part in parts if part.is_all], bill_again)
    faults.point("credit_invoice.milestones_moved")
    _tell(note, engagement, by)
    faults.point("credit_invoice.told")
    postings.credit_note_issued(note)
    faults.point("credit_invoice.posted")
    return note


def credited_net(invoice: Invoice) -> Decimal:
    """What has been credited of an invoice so far, without tax."""
    notes = invoice.credit_notes.filter(state=State.ISSUED)
    return sum((note.net for note in notes), Decimal(0))


def preview_credit(*, invoice: Invoice, net: Decimal | None) -> list[credits.Credit]:
    """What a credit note over `net` would take back of each line; refused where it would be."""
    return credits.split(
        list(invoice.lines.prefetch_related("credit_lines__invoice")),
        currency=invoice.currency,
        net=net,
    )


def _read(invoice: Invoice, engagement: Engagement) -> Invoice:
    """The invoice as it is under its engagement's lock."""
    row = (
        Invoice.objects.select_related("contract_version", "customer", "corrects")
        .prefetch_related("lines__milestone__contract_version")
        .filter(pk=invoice.pk)
        .first()
    )
    if row is None:
        raise Refused("This draft was discarded.")
    row.engagement = engagement
    return row


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


def _number(row: Invoice, lines: Sequence[InvoiceLine], by: User | None) -> None:
    """Give a draft its number and day, copy in what it says, and close it for good."""
    row.series = SERIES[Kind(row.kind)]
    row.issued_on, row.number = numbering.take(series=row.series)
    faults.point("number_invoice.taken")
    row.year = row.issued_on.year
    row.reference = numbering.reference(series=row.series, year=row.year, number=row.number)
    row.issued_at, row.issued_by = timezone.now(), by
    if row.kind == Kind.INVOICE:
        row.due_on = row.issued_on + timedelta(days=row.contract_version.payment_days)
    row.state = State.ISSUED
    row.frozen = invoice_facts.compose(row, lines)
    checked.save(row)


def _known_note(
    original: Invoice, *, seen: Decimal | None, net: Decimal | None, why: str
) -> Invoice | None:
    """The note that a repeated request asks for; Refused where something else was credited."""
    if seen is None:
        return None
    notes = list(original.credit_notes.filter(state=State.ISSUED).order_by("pk"))
    credited = sum((note.net for note in notes), Decimal(0))
    if credited == seen:
        return None
    last = notes[-1] if notes else None
    if last and credited - last.net == seen and last.reason == why and net in (None, last.net):
        return last
    raise Refused(f"Something else of {original.reference} was credited since: look again.")


def _drafted_note(
    original: Invoice, parts: Sequence[credits.Credit], why: str, by: User | None
) -> tuple[Invoice, list[InvoiceLine]]:
    net = quantize(sum((part.net for part in parts), Decimal(0)), original.currency)
    tax = quantize(sum((part.tax for part in parts), Decimal(0)), original.currency)
    note = Invoice(
        kind=Kind.CREDIT_NOTE,
        corrects=original,
        reason=why,
        engagement=original.engagement,
        contract_version=original.contract_version,
        customer=original.customer,
        currency=original.currency,
        net=net,
        tax=tax,
        gross=net + tax,
        drafted_by=by,
    )
    checked.save(note)
    lines = [
        InvoiceLine(
            invoice=note,
            position=position,
            milestone=part.line.milestone,
            corrects=part.line,
            title=part.line.title,
            net=part.net,
            tax_rate_percent=part.line.tax_rate_percent,
            tax=part.tax,
        )
        for position, part in enumerate(parts, start=1)
    ]
    for line in lines:
        checked.save(line)
    return note, lines


def _release_or_void(milestones: Sequence[Milestone], bill_again: bool) -> None:
    for milestone in milestones:
        if milestone.state != Milestone.State.BILLED:
            continue
        if bill_again:
            milestone.state = Milestone.State.RELEASED
            milestone.billed_at, milestone.billing_reference = None, ""
        else:
            milestone.state = Milestone.State.VOID
        checked.save(milestone)


def _tell(row: Invoice, engagement: Engagement, by: User | None) -> None:
    """Into the log and to the workers, which make the PDF once this is committed."""
    amount = format_money(row.gross, row.currency)
    summary = f"Invoice {row.reference}: {amount} with tax, due on {row.due_on}."
    if row.corrects:
        summary = (
            f"Credit note {row.reference}: {amount} with tax off {row.corrects.reference}. "
            f"{row.reason}"
        )
    events.record(
        engagement=engagement,
        verb=f"{row.kind}.issued",
        summary=summary,
        actor=by,
        changes={"invoice": row.pk, "reference": row.reference, "gross": str(row.gross)},
        for_customer=True,
    )
    dispatch.issue_document(row.kind, f"invoice:{row.pk}")
