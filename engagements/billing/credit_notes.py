"""Credit notes: correct issued invoices, in full or in part. People draft them first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db import transaction

from engagements.billing import issuing, postings, write_offs
from engagements.billing.models import Invoice, InvoiceLine
from engagements.billing.reopening import reopen
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money, quantize, tax_on
from engagements.contracts.milestones.models import Milestone, ReleaseCondition
from engagements.engagement import stages
from engagements.engagement.models import Engagement
from engagements.people.models import User

Kind, State = Invoice.Kind, Invoice.State
NOTHING = Decimal(0)


@dataclass(frozen=True)
class Credit:
    """The part of an invoice line to credit: net and tax in the invoice's currency."""

    line: InvoiceLine
    net: Decimal
    tax: Decimal
    is_all: bool


@transaction.atomic
def credit(
    *,
    invoice: Invoice,
    reason: str,
    net: Decimal | None = None,
    lines: Mapping[InvoiceLine, Decimal] | None = None,
    bill_again: bool = False,
) -> Invoice:
    """Issue a credit note within a decision, such as a settlement, whose people are its own.

    People draft and issue them by `credit_note_drafts`. `net` is without tax; None credits the
    rest. Payments stay recorded. Milestones credited in full become void, or with `bill_again`, on
    an unpaid invoice, released again.
    """
    engagement = stages.locked(invoice.engagement_id)
    original = correctable(invoice, engagement)
    parts = preview_credit(invoice=original, net=net, lines=lines)
    note = saved_draft(
        original,
        parts,
        validation.text(reason, noun="The reason for the credit note"),
        bill_again=bill_again,
        by=None,
    )
    return post(note, engagement, by=None)


def post(note: Invoice, engagement: Engagement, *, by: User | None) -> Invoice:
    """Issue a draft credit note of a locked engagement; its invoice's other drafts end."""
    original = note.corrects
    assert original is not None  # a constraint
    require_unpaid(note)
    _discard_others(note, original, engagement, by)
    lines = list(
        note.lines.select_related("milestone__contract_version").prefetch_related(
            "corrects__credit_lines__invoice"
        )
    )
    for line in lines:
        line.invoice = note
    whole = [line for line in lines if line.corrects and creditable(line.corrects)[0] == line.net]
    again = [line for line in whole if note.bill_again and _is_billed(line)]
    issuing.number(note, lines, by)
    _release_or_void([row for row in (line.milestone for line in whole) if row], note.bill_again)
    issuing.record_issued(note, engagement, by)
    postings.credit_note_issued(
        note,
        audit=_net(line for line in lines if line not in again and _is_audit(line)),
        billed_again=_net(again),
    )
    write_offs.reverse_overpaid(invoice=original, reason=f"Credited by {note.reference}.")
    reopen(engagement, reason="a credit note was issued", by=by)
    return note


def require_unpaid(note: Invoice) -> None:
    """Raise ApplicationError where the note bills the milestones of a paid invoice again."""
    if note.bill_again and note.corrects and note.corrects.payments.exists():
        raise ApplicationError(
            f"{note.corrects.reference} has payments, so its milestones cannot be billed again.",
            code="credit_note.invoice_paid",
        )


def _discard_others(
    note: Invoice, original: Invoice, engagement: Engagement, by: User | None
) -> None:
    # They were drafted for another remainder of the invoice.
    for other in original.credit_notes.filter(state=State.DRAFT).exclude(pk=note.pk):
        issuing.discard(other, engagement, by)


def _net(lines: Iterable[InvoiceLine]) -> Decimal:
    return sum((line.net for line in lines), NOTHING)


def _is_audit(line: InvoiceLine) -> bool:
    return line.condition == ReleaseCondition.AUDIT_DELIVERED


def _is_billed(line: InvoiceLine) -> bool:
    return line.milestone is not None and line.milestone.state == Milestone.State.BILLED


def credited_net(invoice: Invoice) -> Decimal:
    """The net amount credited so far."""
    notes = invoice.credit_notes.filter(state=State.ISSUED)
    return sum((note.net for note in notes), NOTHING)


def creditable(line: InvoiceLine) -> tuple[Decimal, Decimal]:
    """The amount of a line not credited yet: net, tax."""
    issued = [credit for credit in line.credit_lines.all() if credit.invoice.is_issued]
    return (
        line.net - sum((credit.net for credit in issued), NOTHING),
        line.tax - sum((credit.tax for credit in issued), NOTHING),
    )


def preview_credit(
    *,
    invoice: Invoice,
    net: Decimal | None,
    lines: Mapping[InvoiceLine, Decimal] | None = None,
) -> list[Credit]:
    """Divide a credit of `net` among the invoice's lines; None credits the rest.

    A partial amount is taken from the last line backwards, unless `lines` states it by line.
    """
    rows = list(invoice.lines.prefetch_related("credit_lines__invoice"))
    currency = invoice.currency
    remaining = {line: creditable(line) for line in rows}
    if lines is not None:
        wanted = {
            line: validation.amount(part, currency, noun=f"The credit of “{line.title}”")
            for line, part in lines.items()
        }
    elif net is None:
        wanted = {line: rest for line, (rest, _) in remaining.items() if rest > 0}
    else:
        wanted = _from_last_line(validation.amount(net, currency, noun="The credit"), remaining)
    limit = sum((rest for rest, _ in remaining.values()), NOTHING)
    if limit <= 0:
        raise ApplicationError(
            "This invoice is already credited in full.", code="credit_note.fully_credited"
        )
    if not wanted or any(part <= 0 for part in wanted.values()):
        raise ApplicationError(
            "Enter an amount greater than zero.", code="credit_note.not_positive"
        )
    if any(line not in remaining or part > remaining[line][0] for line, part in wanted.items()):
        raise ApplicationError(
            f"At most {format_money(limit, currency)} without tax can be credited.",
            code="credit_note.too_much",
        )
    credited = [line for line in rows if line in wanted]
    return [_credit(line, wanted[line], remaining[line], currency) for line in credited]


def _from_last_line(
    net: Decimal, remaining: dict[InvoiceLine, tuple[Decimal, Decimal]]
) -> dict[InvoiceLine, Decimal]:
    wanted = {}
    rest = net
    for line, (limit, _) in reversed(remaining.items()):
        part = min(rest, limit)
        if part > 0:
            wanted[line] = part
            rest -= part
    if rest > 0 and wanted:
        # An excess stays on the last line, so that the whole amount is declined.
        wanted[next(iter(wanted))] += rest
    return wanted


def _credit(
    line: InvoiceLine, net: Decimal, remaining: tuple[Decimal, Decimal], currency: str
) -> Credit:
    """Credit `net` of a line; the line's remainder keeps exactly its own tax."""
    rest = remaining[0] - net
    tax = remaining[1] - tax_on(rest, line.tax_rate_percent, currency)
    return Credit(line=line, net=net, tax=max(tax, NOTHING), is_all=rest == 0)


def correctable(invoice: Invoice, engagement: Engagement) -> Invoice:
    """Reload an issued invoice of a locked engagement, to be credited."""
    original = issuing.reload(invoice, engagement)
    if not original.is_issued or original.is_credit_note:
        raise ApplicationError(
            "Only an issued invoice can be credited.", code="credit_note.not_an_issued_invoice"
        )
    return original


def saved_draft(
    original: Invoice,
    parts: Sequence[Credit],
    reason: str,
    *,
    bill_again: bool,
    by: User | None,
) -> Invoice:
    """Save the draft of a credit note over `parts`, without a number."""
    net = quantize(sum((part.net for part in parts), NOTHING), original.currency)
    tax = quantize(sum((part.tax for part in parts), NOTHING), original.currency)
    note = Invoice(
        kind=Kind.CREDIT_NOTE,
        corrects=original,
        reason=reason,
        engagement=original.engagement,
        contract_version=original.contract_version,
        audit_order=original.audit_order,
        charge=original.charge,
        customer=original.customer,
        currency=original.currency,
        net=net,
        tax=tax,
        gross=net + tax,
        bill_again=bill_again,
        drafted_by=by,
    )
    require_unpaid(note)
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
    return note


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
