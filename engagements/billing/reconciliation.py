"""Reconcile bank statement lines with invoices: propose, assign, set aside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

from django.apps import apps
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Upper
from django.utils import timezone

from engagements.access import require_finance
from engagements.billing import payments, postings
from engagements.billing.balances import issued_invoices, open_invoices
from engagements.billing.models import Invoice
from engagements.billing.payment_models import (
    REFERENCE_HEAD,
    BankLine,
    Payment,
    PaymentConfirmation,
)
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.engagement import stages
from engagements.engagement.models import Stage
from engagements.people.models import User

if TYPE_CHECKING:
    from engagements.billing.balances import InvoiceWithBalance

State = BankLine.State
# An invoice number as printed, or with other separators or none.
NUMBER = re.compile(r"(?<![A-Z])(INV|HAND)[\s\-_./]*(\d{4})[\s\-_./]*(\d{4,})(?!\d)")
ENDED = (Stage.CLOSED, Stage.CANCELLED)


class Match(StrEnum):
    """How a line's amount compares with the open amounts of the invoices it quotes."""

    EXACT = "exact"
    PART = "part"
    OVER = "over"
    BY_AMOUNT = "by_amount"
    NONE = "none"


@dataclass(frozen=True)
class Proposal:
    """The invoices that a line would pay, with an amount each. `reason` when there are none."""

    line: BankLine
    match: Match
    parts: tuple[tuple[InvoiceWithBalance, Decimal], ...] = ()
    reason: str = ""

    @property
    def is_certain(self) -> bool:
        """Whether the payer quoted the invoices; only these are recorded in bulk."""
        return self.match in (Match.EXACT, Match.PART, Match.OVER)


def proposals(lines: Iterable[BankLine]) -> list[Proposal]:
    """Propose invoices for open lines, in order: two lines that quote one invoice share it."""
    rows = list(lines)
    quoted = {line.pk: quoted_numbers(line.text) for line in rows}
    wanted = {number for numbers in quoted.values() for _, _, number in numbers}
    by_number = {
        (row.series, row.year, row.number): row
        for row in issued_invoices().filter(number__in=wanted)
    }
    waiting = list(open_invoices())
    remaining: dict[int, Decimal] = {}
    refunds = own_refund_ids(rows)
    keyed = payments.unconfirmed(Payment.objects.filter(invoice__in=by_number.values()))
    by_hand = {(row.invoice_id, row.amount): row.reference for row in keyed}
    return [
        Proposal(line, Match.NONE, reason=reason)
        if (reason := _other_reason(line, refunds))
        else _proposal(
            line,
            [by_number[n] for n in quoted[line.pk] if n in by_number],
            waiting,
            remaining,
            by_hand,
        )
        for line in rows
    ]


def own_refund_ids(lines: Iterable[BankLine]) -> frozenset[str]:
    """The end-to-end ids of these lines, in capitals, that our own refunds have."""
    wanted = {line.end_to_end_id.upper() for line in lines if line.end_to_end_id}
    if not wanted:
        return frozenset()
    # By name: payouts are above billing.
    transfers = apps.get_model("engagements", "Transfer")._default_manager
    return frozenset(
        {
            *transfers.annotate(id_upper=Upper("end_to_end_id"))
            .filter(id_upper__in=wanted)
            .values_list("id_upper", flat=True),
            *Payment.objects.filter(kind=Payment.Kind.PAID_BACK)
            .annotate(id_upper=Upper("reference"))
            .filter(id_upper__in=wanted)
            .values_list("id_upper", flat=True),
        }
    )


def _other_reason(line: BankLine, refunds: frozenset[str]) -> str:
    """The reason why a line cannot be a customer's payment; empty if it can."""
    if line.end_to_end_id.upper() in refunds:
        return "One of our refunds has this end-to-end id."
    if not line.is_credit:
        return "Outgoing money that matches no refund of ours."
    return "The bank marks it as the reversal of a debit." if line.is_reversal else ""


def quoted_numbers(text: str) -> list[tuple[str, int, int]]:
    """Return the distinct invoice numbers in a text as (series, year, number).

    Banks break lines anywhere, so the text is searched with and without its spaces.
    """
    upper = text.upper()
    for version in (upper, re.sub(r"\s", "", upper)):
        found = [(series, int(year), int(n)) for series, year, n in NUMBER.findall(version)]
        if found:
            return list(dict.fromkeys(found))
    return []


def _proposal(
    line: BankLine,
    quoted: list[InvoiceWithBalance],
    waiting: list[InvoiceWithBalance],
    remaining: dict[int, Decimal],
    by_hand: dict[tuple[int, Decimal], str],
) -> Proposal:
    if not quoted:
        return _by_amount(line, waiting)
    other = next((row for row in quoted if row.currency != line.currency), None)
    if other:
        return Proposal(line, Match.NONE, reason=f"{other.reference} is in {other.currency}.")
    keyed = [reference for row in quoted if (reference := by_hand.get((row.pk, line.amount)))]
    if keyed:
        reason = f"Keyed by hand as {keyed[0]}: open the line to confirm it."
        return Proposal(line, Match.NONE, reason=reason)
    rest, parts = line.amount, []
    for row in quoted:
        due = remaining.get(row.pk, row.amount_due if row.offset else row.open_amount)
        part = rest if row is quoted[-1] else min(rest, max(due, Decimal(0)))
        remaining[row.pk] = due - part
        rest -= part
        if part > 0:
            parts.append((row, part))
    over = any(remaining[row.pk] < 0 for row in quoted)
    under = any(remaining[row.pk] > 0 for row in quoted)
    match = Match.OVER if over else Match.PART if under else Match.EXACT
    return Proposal(line, match, tuple(parts))


def _by_amount(line: BankLine, waiting: list[InvoiceWithBalance]) -> Proposal:
    """Propose the only open invoice over exactly this amount."""
    same = [r for r in waiting if (r.currency, r.amount_due) == (line.currency, line.amount)]
    if len(same) == 1:
        return Proposal(line, Match.BY_AMOUNT, ((same[0], line.amount),))
    return Proposal(line, Match.NONE, reason="No invoice number in the text.")


def assignable_invoices(line: BankLine) -> list[InvoiceWithBalance]:
    """Invoices in the line's currency, open ones first.

    Invoices of ended engagements only where the payer quoted them.
    """
    quoted = {number for _, _, number in quoted_numbers(line.text)}
    relevant = ~Q(engagement__stage__in=ENDED) | Q(number__in=quoted)
    rows = issued_invoices().filter(relevant, currency=line.currency)
    return sorted(rows.order_by("due_on", "pk"), key=lambda row: row.amount_due <= 0)


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
    if row.state == State.SET_ASIDE:
        postings.bank_line_taken_up(row)
    for invoice, amount in parts:
        payments.record(
            invoice=invoice,
            amount=amount,
            received_on=row.valued_on,
            reference=_reference(row, invoice),
            bank_line=row,
            may_exceed=True,
            by=by,
        )
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
    if row.state == State.SET_ASIDE:
        postings.bank_line_taken_up(row)
    payments.record(
        invoice=invoice,
        amount=amount,
        received_on=row.valued_on,
        reference=_reference(row, invoice),
        bank_line=row,
        bank_amount=row.amount,
        may_exceed=True,
        by=by,
    )
    postings.bank_line_exchanged(row)
    return handle(row, State.ASSIGNED, by)


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
    if line.state == State.MATCHED or not line.is_credit:
        raise ApplicationError(
            "Only incoming money of customers is assigned to invoices.",
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
    if row.state == State.SET_ASIDE:
        postings.bank_line_taken_up(row)
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
    """Mark a line as none of Twofold's money, with the reason. It may still be assigned."""
    require_finance(by)
    reason = validation.text(note, noun="The reason")
    row = BankLine.objects.select_for_update(of=("self",)).get(pk=line.pk)
    if row.state in (State.ASSIGNED, State.MATCHED):
        raise ApplicationError(
            "This line is already assigned or matched.", code="bank_line.assigned"
        )
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
