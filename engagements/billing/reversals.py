"""Reverse payments: keyed by mistake, for the wrong invoice, or taken back by the bank."""

from __future__ import annotations

from datetime import date

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from engagements.access import require_finance
from engagements.billing import postings
from engagements.billing.bank_models import CONFIRMED_LINE, BankLine
from engagements.billing.payment_models import REFERENCE_HEAD, Payment
from engagements.billing.reopening import reopen
from engagements.billing.reversal_models import PaymentReversal
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.engagement import stages
from engagements.event_log import events
from engagements.people import second_person
from engagements.people.models import User

Cause, State = PaymentReversal.Cause, PaymentReversal.State


def open_reversals() -> QuerySet[PaymentReversal]:
    """Proposed reversals, the oldest first."""
    rows = PaymentReversal.objects.filter(state=State.PROPOSED)
    return rows.select_related("payment__invoice__engagement", "proposed_by").order_by("pk")


def causes_of(payment: Payment) -> list[PaymentReversal.Cause]:
    """The possible causes: one with a bank line was received, so it was not keyed by mistake."""
    if payment.bank_line_id is not None:
        return [Cause.OTHER_INVOICE, Cause.CHARGEBACK]
    confirmation = getattr(payment, "confirmation", None)
    by_the_bank = confirmation is not None and confirmation.bank_line_id is not None
    return [Cause.CHARGEBACK] if by_the_bank else [Cause.MISTYPED, Cause.CHARGEBACK]


def payments_reversed_with(payment: Payment, cause: str) -> list[Payment]:
    """The payments that a reversal reverses: for the wrong invoice, all of the bank line."""
    rows = Payment.objects.filter(kind=Payment.Kind.RECEIVED, moved_to__isnull=True)
    if cause == Cause.OTHER_INVOICE:
        rows = rows.filter(bank_line=payment.bank_line_id)
    else:
        rows = rows.filter(pk=payment.pk)
    return list(rows.select_related("invoice__engagement").order_by("pk"))


def chargeback_lines(payment: Payment) -> QuerySet[BankLine]:
    """Open outgoing bank lines over exactly the payment's amount, in the bank's currency."""
    amount, currency = payment.amount, payment.invoice.currency
    if payment.bank_amount is not None and payment.bank_line is not None:
        amount, currency = payment.bank_amount, payment.bank_line.currency
    return BankLine.objects.filter(
        CONFIRMED_LINE, state=BankLine.State.OPEN, amount=-amount, currency=currency
    )


@transaction.atomic
def propose(
    *,
    payment: Payment,
    cause: str,
    reason: str,
    dated_on: date,
    by: User,
    bank_line: BankLine | None = None,
) -> PaymentReversal:
    """Propose to reverse a received payment. Idempotent for the same person and cause.

    `dated_on` is the bank's value date of a chargeback and `bank_line` the line that shows it.
    """
    engagement = stages.locked(payment.invoice.engagement_id)
    require_finance(by)
    row = Payment.objects.select_related("invoice", "confirmation").get(pk=payment.pk)
    _require_reversible(row, cause)
    known = row.reversals.filter(state=State.PROPOSED).first()
    if known and (known.cause, known.proposed_by_id) == (cause, by.pk):
        return known
    if dated_on > timezone.localdate():
        raise ApplicationError("The date is in the future.", code="reversal.in_the_future")
    if bank_line is not None and not chargeback_lines(row).filter(pk=bank_line.pk).exists():
        raise ApplicationError(
            "Choose an open outgoing line of the payment's amount.", code="reversal.other_line"
        )
    if row.bank_amount is not None and cause == Cause.CHARGEBACK and bank_line is None:
        raise ApplicationError(
            "Choose the outgoing line: the payment is in another currency than its invoice.",
            code="reversal.line_required",
        )
    reversal = PaymentReversal(
        payment=row,
        cause=cause,
        reason=validation.text(reason, noun="The reason"),
        dated_on=dated_on,
        bank_line=bank_line if cause == Cause.CHARGEBACK else None,
        proposed_by=by,
    )
    validation.save_validated(reversal)
    reversal.payment.invoice.engagement = engagement
    _record(reversal, [row], by)
    return reversal


def _require_reversible(payment: Payment, cause: str) -> None:
    if payment.kind != Payment.Kind.RECEIVED or hasattr(payment, "moved_to"):
        raise ApplicationError(
            "Only a received payment can be reversed, and only once.", code="reversal.not_received"
        )
    if cause not in causes_of(payment):
        raise ApplicationError("Choose a cause.", code="reversal.cause")


@transaction.atomic
def approve(*, reversal: PaymentReversal, by: User) -> PaymentReversal:
    """Reverse the payment. The proposer may not approve. Idempotent."""
    row, rows = _locked(reversal)
    require_finance(by)
    if not second_person.may_decide(row, to=State.POSTED, by=by):
        return row
    if row.payment not in rows:
        raise ApplicationError(
            "Only a received payment can be reversed, and only once.", code="reversal.not_received"
        )
    second_person.decide(row, to=State.POSTED, by=by)
    for payment in rows:
        _reverse(payment, row, by)
    _update_lines(row, by)
    _record(row, rows, by)
    for engagement in {payment.invoice.engagement for payment in rows}:
        reopen(engagement, reason="a payment was reversed", by=by)
    return row


def _reverse(payment: Payment, reversal: PaymentReversal, by: User) -> None:
    opens_line = reversal.cause == Cause.OTHER_INVOICE
    exchanged = payment.bank_amount if opens_line else None
    reversed_ = Payment(
        invoice=payment.invoice,
        kind=Payment.Kind.REVERSED,
        amount=-payment.amount,
        received_on=reversal.dated_on,
        reference=f"{payment.reference[:REFERENCE_HEAD]} reversed",
        moved_from=payment,
        bank_line=payment.bank_line if opens_line else None,
        bank_amount=None if exchanged is None else -exchanged,
        recorded_by=by,
    )
    validation.save_validated(reversed_)
    postings.payment_reversed(reversed_)


@transaction.atomic
def void(*, reversal: PaymentReversal, by: User) -> PaymentReversal:
    """Void a proposed reversal: the payment stays. Idempotent."""
    row, _ = _locked(reversal)
    require_finance(by)
    if second_person.may_decide(row, to=State.VOIDED, by=by):
        row.bank_line = None
        second_person.decide(row, to=State.VOIDED, by=by)
        _record(row, [row.payment], by)
    return row


def _locked(reversal: PaymentReversal) -> tuple[PaymentReversal, list[Payment]]:
    """Reload the reversal and its payments under the locks of their engagements, by key."""
    payment = reversal.payment
    rows = payments_reversed_with(payment, reversal.cause)
    keys = {payment.invoice.engagement_id, *(each.invoice.engagement_id for each in rows)}
    for key in sorted(keys):
        stages.locked(key)
    row = PaymentReversal.objects.select_related("payment__invoice__engagement").get(pk=reversal.pk)
    return row, payments_reversed_with(row.payment, row.cause)


def _update_lines(reversal: PaymentReversal, by: User) -> None:
    """Open the line of a wrong assignment again, or take the line that shows a chargeback."""
    is_exchanged = reversal.payment.bank_amount is not None
    line = reversal.payment.bank_line if reversal.cause == Cause.OTHER_INVOICE else None
    if line is not None:
        line.state, line.handled_by, line.handled_at = BankLine.State.OPEN, None, None
        validation.save_validated(line)
        if is_exchanged:
            postings.bank_line_exchange_undone(line)
    if reversal.bank_line is not None:
        shown = BankLine.objects.select_for_update(of=("self",)).get(pk=reversal.bank_line.pk)
        if shown.state != BankLine.State.OPEN:
            raise ApplicationError(
                "The bank line of this chargeback is already handled.", code="reversal.other_line"
            )
        shown.state, shown.handled_by, shown.handled_at = (
            BankLine.State.MATCHED,
            by,
            timezone.now(),
        )
        validation.save_validated(shown)
        if is_exchanged:
            postings.bank_line_exchanged(shown)


def _record(reversal: PaymentReversal, rows: list[Payment], by: User) -> None:
    for payment in rows:
        invoice = payment.invoice
        shown = format_money(payment.amount, invoice.currency)
        events.record(
            engagement=invoice.engagement,
            verb=f"payment_reversal.{reversal.state}",
            summary=f"{shown} for {invoice.reference}, {payment.reference}: "
            f"{reversal.get_cause_display().lower()}, {reversal.get_state_display().lower()}. "
            f"{reversal.reason}",
            actor=by,
            changes={
                "payment": payment.pk,
                "reversal": reversal.pk,
                "amount": str(payment.amount),
                "state": reversal.state,
            },
            for_customer=False,
        )
