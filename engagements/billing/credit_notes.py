"""Credit notes: correct issued invoices, in full or in part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db import transaction

from engagements.access import require_finance
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
    by: User | None,
    net: Decimal | None = None,
    lines: Mapping[InvoiceLine, Decimal] | None = None,
    expected_credited: Decimal | None = None,
    bill_again: bool = False,
) -> Invoice:
    """Issue a credit note over `net` (without tax) of an issued invoice; None credits the rest.

    Payments stay recorded. Milestones credited in full become void, or with `bill_again`, on an
    unpaid invoice, released again. `expected_credited` is the net amount already credited when
    the form was shown: after a change, the same request returns its note, any other is declined.
    Without `by` the application issues the note.
    """
    engagement = stages.locked(invoice.engagement_id)
    if by is not None:
        require_finance(by)
    reason = validation.text(reason, noun="The reason for the credit note")
    original = _original(invoice, engagement)
    known = _known_note(original, expected_credited, net=net, reason=reason)
    if known:
        return known
    if bill_again and original.payments.exists():
        raise ApplicationError(
            f"{original.reference} has payments, so its milestones cannot be billed again.",
            code="credit_note.invoice_paid",
        )
    parts = preview_credit(invoice=original, net=net, lines=lines)
    again = [part for part in parts if bill_again and part.is_all and _is_billed(part)]
    note, note_lines = _drafted_note(original, parts, reason, by)
    issuing.number(note, note_lines, by)
    whole = [part.line.milestone for part in parts if part.is_all]
    _release_or_void([row for row in whole if row is not None], bill_again)
    issuing.record_issued(note, engagement, by)
    postings.credit_note_issued(
        note,
        audit=_net(part for part in parts if part not in again and _is_audit(part)),
        billed_again=_net(again),
    )
    write_offs.reverse_overpaid(invoice=original, reason=f"Credited by {note.reference}.")
    reopen(engagement, reason="a credit note was issued", by=by)
    return note


def _net(parts: Iterable[Credit]) -> Decimal:
    return sum((part.net for part in parts), NOTHING)


def _is_audit(part: Credit) -> bool:
    return part.line.condition == ReleaseCondition.AUDIT_DELIVERED


def _is_billed(part: Credit) -> bool:
    milestone = part.line.milestone
    return milestone is not None and milestone.state == Milestone.State.BILLED


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


def _original(invoice: Invoice, engagement: Engagement) -> Invoice:
    original = issuing.reload(invoice, engagement)
    if not original.is_issued or original.is_credit_note:
        raise ApplicationError(
            "Only an issued invoice can be credited.", code="credit_note.not_an_issued_invoice"
        )
    return original


def _known_note(
    original: Invoice, expected: Decimal | None, *, net: Decimal | None, reason: str
) -> Invoice | None:
    """The note that an earlier, identical request issued."""
    if expected is None:
        return None
    notes = list(original.credit_notes.filter(state=State.ISSUED).order_by("pk"))
    credited = sum((note.net for note in notes), NOTHING)
    if credited == expected:
        return None
    last = notes[-1] if notes else None
    is_repeated = last and (credited - last.net, last.reason) == (expected, reason)
    if last and is_repeated and net in (None, last.net):
        return last
    raise ApplicationError(
        f"{original.reference} was credited while you were looking; review it again.",
        code="credit_note.stale",
    )


def _drafted_note(
    original: Invoice, parts: Sequence[Credit], reason: str, by: User | None
) -> tuple[Invoice, list[InvoiceLine]]:
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
