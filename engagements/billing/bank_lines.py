"""Money that a bank file says came in: assigned to invoices, or set aside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from engagements.access import require_finance
from engagements.billing import payments
from engagements.billing.matching import Proposal
from engagements.billing.models import Invoice
from engagements.billing.payment_models import BankLine
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.engagement import stages
from engagements.people.models import User

State = BankLine.State
# What is left of 80 characters beside the mark that tells two entries apart.
REFERENCE_HEAD = 69


@transaction.atomic
def assign(*, line: BankLine, parts: Sequence[tuple[Invoice, Decimal]], by: User) -> BankLine:
    """Record all of a line's money as payments for these invoices. Done already, nothing changes.

    Engagements are locked before the line, in the order of their keys: everything else locks
    an engagement first, too.
    """
    require_finance(by)
    for engagement in sorted({invoice.engagement_id for invoice, _ in parts}):
        stages.locked(engagement)
    row = BankLine.objects.select_for_update(of=("self",)).get(pk=line.pk)
    wanted = {invoice.pk: amount for invoice, amount in parts}
    if row.state == State.ASSIGNED:
        if dict(row.payments.values_list("invoice", "amount")) != wanted:
            raise ApplicationError(
                "This money is assigned already, to other invoices.", code="billing.todo"
            )
        return row
    total = sum(wanted.values(), Decimal(0))
    if len(wanted) != len(parts) or total != row.amount:
        whole = format_money(row.amount, row.currency)
        raise ApplicationError(
            f"All of {whole} is assigned at once, to each invoice once.", code="billing.todo"
        )
    for invoice, amount in parts:
        if invoice.currency != row.currency:
            raise ApplicationError(
                f"{invoice.reference} is in {invoice.currency}, not {row.currency}.",
                code="billing.todo",
            )
        payments.record(
            invoice=invoice,
            amount=amount,
            received_on=row.booked_on,
            reference=_reference(row, invoice),
            bank_line=row,
            may_exceed=True,
            by=by,
        )
    return _handle(row, State.ASSIGNED, by)


def assign_certain(*, proposals: Iterable[Proposal], by: User) -> tuple[int, list[str]]:
    """Record every proposal in which the payer quoted the invoice, each by itself.

    Returns how many were recorded, and why others were not: one that is refused holds up none.
    """
    done, refusals = 0, []
    for proposal in proposals:
        if not proposal.is_certain:
            continue
        try:
            assign(line=proposal.line, parts=proposal.parts, by=by)
            done += 1
        except ApplicationError as refused:
            refusals.append(f"{proposal.line}: {refused}")
    return done, refusals


@transaction.atomic
def set_aside(*, line: BankLine, note: str, by: User) -> BankLine:
    """Say why a line's money is for no invoice. It may be assigned later all the same."""
    require_finance(by)
    why = validation.text(note, noun="The reason")
    row = BankLine.objects.select_for_update(of=("self",)).get(pk=line.pk)
    if row.state == State.ASSIGNED:
        raise ApplicationError("This money is assigned to an invoice already.", code="billing.todo")
    row.note = why
    return _handle(row, State.SET_ASIDE, by)


def _reference(row: BankLine, invoice: Invoice) -> str:
    """The bank's reference, told apart where another entry of the bank had it for this invoice:
    who pays in parts may use one reference for all of them."""
    same = invoice.payments.filter(reference=row.entry_reference)
    if not same.exclude(bank_line=None).exclude(bank_line=row).exists():
        return row.entry_reference
    return f"{row.entry_reference[:REFERENCE_HEAD]} ({row.entry_key[7:15]})"


def _handle(row: BankLine, state: BankLine.State, by: User) -> BankLine:
    row.state, row.handled_by, row.handled_at = state, by, timezone.now()
    validation.save_validated(row)
    return row
