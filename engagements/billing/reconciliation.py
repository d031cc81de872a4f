"""Reconcile bank statement lines with invoices: assign, confirm, set aside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from engagements.access import require_finance
from engagements.billing import csv_confirmations, payments, postings
from engagements.billing.bank_models import BankLine
from engagements.billing.line_proposals import Proposal, own_refund_ids
from engagements.billing.models import Invoice
from engagements.billing.payment_models import REFERENCE_HEAD, Payment, PaymentConfirmation
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.engagement import stages
from engagements.people.models import User

State = BankLine.State


@transaction.atomic
def assign(*, line: BankLine, parts: Sequence[tuple[Invoice, Decimal]], by: User) -> BankLine:
    """Record a line's full amount as payments for these invoices. Idempotent.

    Locks the engagements by key before the line, since every other service locks them first.
    """
    require_finance(by)
    for engagement in sorted({invoice.engagement_id for invoice, _ in parts}):
        stages.locked(engagement)
    row = BankLine.objects.select_for_update(of=("self",)).get(pk=line.pk)
    wanted = {invoice.pk: amount for invoice, amount in parts}
    if row.state == State.ASSIGNED:
        _require_assigned_to(row, wanted)
        return row
    _require_whole(row, parts)
    _take_up(row)
    for invoice, amount in parts:
        _pay(row, invoice, amount, by)
    return handle(row, State.ASSIGNED, by)


@transaction.atomic
def assign_exchanged(*, line: BankLine, invoice: Invoice, amount: Decimal, by: User) -> BankLine:
    """Record a line as a payment of `amount` for an invoice in another currency. Idempotent.

    The rate is `amount`, in the invoice's currency, over the line's amount.
    """
    require_finance(by)
    stages.locked(invoice.engagement_id)
    row = BankLine.objects.select_for_update(of=("self",)).get(pk=line.pk)
    if row.state == State.ASSIGNED:
        _require_assigned_to(row, {invoice.pk: amount})
        return row
    _require_payment(row)
    if invoice.currency == row.currency:
        raise ApplicationError(
            f"{invoice.reference} is in {row.currency} too: assign the line without a rate.",
            code="bank_line.same_currency",
        )
    _take_up(row)
    _pay(row, invoice, amount, by, bank_amount=row.amount)
    postings.bank_line_exchanged(row)
    return handle(row, State.ASSIGNED, by)


def _take_up(line: BankLine) -> None:
    """Put a line that was set aside back into suspense."""
    if line.state == State.SET_ASIDE:
        postings.bank_line_taken_up(line)


def _pay(
    line: BankLine,
    invoice: Invoice,
    amount: Decimal,
    by: User,
    *,
    bank_amount: Decimal | None = None,
) -> None:
    payments.record(
        invoice=invoice,
        amount=amount,
        received_on=line.valued_on,
        reference=_reference(line, invoice),
        bank_line=line,
        bank_amount=bank_amount,
        may_exceed=True,
        by=by,
    )


def _require_assigned_to(line: BankLine, amounts: dict[int, Decimal]) -> None:
    """Require that a line's payments which are not reversed are these, by invoice."""
    payments_left = line.payments.filter(kind=Payment.Kind.RECEIVED, moved_to__isnull=True)
    if dict(payments_left.values_list("invoice", "amount")) != amounts:
        raise ApplicationError(
            "This line is already assigned to other invoices.",
            code="bank_line.assigned_differently",
        )


def _require_whole(line: BankLine, parts: Sequence[tuple[Invoice, Decimal]]) -> None:
    _require_payment(line)
    invoices = [invoice for invoice, _ in parts]
    if len(set(invoices)) != len(invoices):
        raise ApplicationError("Choose each invoice once.", code="bank_line.invoice_twice")
    if sum((amount for _, amount in parts), Decimal(0)) != line.amount:
        whole = format_money(line.amount, line.currency)
        raise ApplicationError(
            f"The amounts must add up to {whole}.", code="bank_line.not_fully_assigned"
        )
    for invoice in invoices:
        if invoice.currency != line.currency:
            raise ApplicationError(
                f"{invoice.reference} is in {invoice.currency}, this line in {line.currency}.",
                code="bank_line.other_currency",
            )


def _require_payment(line: BankLine) -> None:
    csv_confirmations.require_confirmed(line)
    if line.state == State.MATCHED or not line.is_credit:
        raise ApplicationError(
            "Only incoming payments can be assigned to invoices.",
            code="bank_line.not_a_payment",
        )
    if own_refund_ids([line]):
        raise ApplicationError(
            "This is one of our refunds, returned by the bank: match it with the refund.",
            code="bank_line.returned_refund",
        )


@transaction.atomic
def confirm_payment(*, line: BankLine, payment: Payment, by: User) -> BankLine:
    """Take an open line as the bank's record of a payment keyed by hand. Idempotent."""
    require_finance(by)
    stages.locked(payment.invoice.engagement_id)
    row = BankLine.objects.select_for_update(of=("self",)).get(pk=line.pk)
    known = PaymentConfirmation.objects.filter(bank_line=row).first()
    if known and known.payment_id == payment.pk:
        return row
    candidates = keyed_payments(row)
    if row.state == State.ASSIGNED or not candidates.filter(pk=payment.pk).exists():
        raise ApplicationError(
            "This line is not the bank's record of this payment.", code="bank_line.other_payment"
        )
    _require_payment(row)
    _take_up(row)
    payments.confirm(payment=payment, by=by, bank_line=row)
    return handle(row, State.ASSIGNED, by)


def keyed_payments(line: BankLine) -> QuerySet[Payment]:
    """Unconfirmed payments of the line's amount and currency, keyed by hand: it may be one."""
    same = Payment.objects.filter(amount=line.amount, invoice__currency=line.currency)
    return payments.unconfirmed(same).select_related("invoice", "recorded_by").order_by("pk")


def assign_certain(*, proposals: Iterable[Proposal], by: User) -> tuple[int, list[str]]:
    """Record each certain proposal by itself; return the number recorded and the errors."""
    done, errors = 0, []
    for proposal in proposals:
        if not proposal.is_certain:
            continue
        try:
            assign(line=proposal.line, parts=proposal.parts, by=by)
            done += 1
        except ApplicationError as error:
            errors.append(f"{proposal.line}: {error}")
    return done, errors


@transaction.atomic
def set_aside(*, line: BankLine, note: str, by: User) -> BankLine:
    """Mark a line as none of Twofold's money, with the reason. Idempotent.

    It may still be assigned.
    """
    require_finance(by)
    reason = validation.text(note, noun="The reason")
    row = BankLine.objects.select_for_update(of=("self",)).get(pk=line.pk)
    if row.state in (State.ASSIGNED, State.MATCHED):
        raise ApplicationError(
            "This line is already assigned or matched.", code="bank_line.assigned"
        )
    if row.state == State.SET_ASIDE and row.note == reason:
        return row
    if row.state == State.OPEN:
        postings.bank_line_set_aside(row)
    row.note = reason
    return handle(row, State.SET_ASIDE, by)


def _reference(line: BankLine, invoice: Invoice) -> str:
    """The bank's reference, with a suffix where it is already used for a payment of the invoice."""
    same = invoice.payments.filter(reference=line.entry_reference, bank_line__isnull=False)
    again = line.payments.filter(kind=Payment.Kind.REVERSED, invoice=invoice).count()
    if again:
        return f"{line.entry_reference[:REFERENCE_HEAD]} (again {again})"
    if not same.exclude(bank_line=line).exists():
        return line.entry_reference
    return f"{line.entry_reference[:REFERENCE_HEAD]} ({line.entry_key[7:15]})"


def handle(line: BankLine, state: BankLine.State, by: User) -> BankLine:
    """Write the state of a locked line, and who handled it."""
    line.state, line.handled_by, line.handled_at = state, by, timezone.now()
    validation.save_validated(line)
    return line
