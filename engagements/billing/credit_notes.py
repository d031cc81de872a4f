"""Credit notes: what is taken back of an issued invoice, on a day of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from django.db import transaction

from engagements.access import require_finance
from engagements.billing import credits, issuing, postings
from engagements.billing.models import Invoice, InvoiceLine
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import quantize
from engagements.contracts.milestones.models import Milestone
from engagements.engagement import stages
from engagements.engagement.models import Engagement
from engagements.people.models import User

Kind, State = Invoice.Kind, Invoice.State


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
    engagement = stages.locked(invoice.engagement_id)
    if by is not None:
        require_finance(by)
    why = validation.text(reason, noun="The reason for the credit note")
    original = _original(invoice, engagement)
    known = _known_note(original, seen=seen, net=net, why=why)
    if known:
        return known
    if bill_again and original.payments.exists():
        raise ApplicationError(
            f"Money was received for {original.reference}: it is not billed again.",
            code="billing.todo",
        )
    parts = preview_credit(invoice=original, net=net, lines=lines)
    note, note_lines = _drafted_note(original, parts, why, by)
    issuing.number(note, note_lines, by)
    _release_or_void([part.line.milestone for part in parts if part.is_all], bill_again)
    issuing.tell(note, engagement, by)
    postings.credit_note_issued(note)
    return note


def credited_net(invoice: Invoice) -> Decimal:
    """What has been credited of an invoice so far, without tax."""
    notes = invoice.credit_notes.filter(state=State.ISSUED)
    return sum((note.net for note in notes), Decimal(0))


def preview_credit(
    *,
    invoice: Invoice,
    net: Decimal | None,
    lines: Mapping[InvoiceLine, Decimal] | None = None,
) -> list[credits.Credit]:
    """What a credit note over `net` would take back of each line; refused where it would be."""
    return credits.split(
        list(invoice.lines.prefetch_related("credit_lines__invoice")),
        currency=invoice.currency,
        net=net,
        by_line=lines,
    )


def _original(invoice: Invoice, engagement: Engagement) -> Invoice:
    original = issuing.read(invoice, engagement)
    if not original.is_issued or original.is_credit_note:
        raise ApplicationError("A credit note corrects an issued invoice.", code="billing.todo")
    return original


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
    raise ApplicationError(
        f"Something else of {original.reference} was credited since: look again.",
        code="billing.todo",
    )


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
    validation.save_validated(note)
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
        validation.save_validated(line)
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
        validation.save_validated(milestone)
