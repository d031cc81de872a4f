"""Refund payments of settlements, by attempts: start, confirm, fail, retry."""

from __future__ import annotations

from datetime import date, datetime

from django.db import transaction
from django.utils import timezone

from engagements.access import require_finance
from engagements.billing import payments
from engagements.billing.reopening import reopen
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.queue import enqueue
from engagements.engagement.models import Engagement
from engagements.payouts import postings, refund_accounts
from engagements.payouts.models import Transfer, TransferFile
from engagements.people import second_person
from engagements.people.models import User
from engagements.settlements import calculation, disputes
from engagements.settlements.models import Settlement
from engagements.settlements.transitions import advance, locked, outcome_text, require_state

State = Settlement.State
Method, Outcome = Transfer.Method, Transfer.Outcome


@transaction.atomic
def start_payment(
    *,
    settlement: Settlement,
    by: User,
    file: TransferFile | None = None,
) -> Settlement:
    """Start the transfer of an approved refund, or retry a failed one. Money in flight is gone.

    With `file` the transfer is by SEPA, otherwise by hand. The approver may not start it.
    """
    row, engagement = locked(settlement)
    require_finance(by)
    if row.state in (State.PAYING, State.PAID):
        return row
    require_state(row, State.APPROVED, State.FAILED, to="to be paid")
    if not row.has_refund:
        raise ApplicationError(
            "This settlement has no refund to transfer.", code="refund.nothing_to_transfer"
        )
    _start(row, engagement, by, file=file)
    return row


@transaction.atomic
def mark_paid(
    *, settlement: Settlement, reference: str, by: User, valued_on: date | None = None
) -> Settlement:
    """Confirm the transfer under the bank's `reference`, and enqueue the statement.

    `valued_on` is the bank's value date; None for today.
    """
    row, _ = locked(settlement)
    day = value_date(valued_on, not_before=row.approved_at)
    return _mark_paid(settlement, reference, by=by, paid_by=by, valued_on=day)


def value_date(valued_on: date | None, *, not_before: datetime | None) -> date:
    """A value date that a person keyed; None for today.

    Raises ApplicationError for one in the future, or before the refund was decided.
    """
    day = valued_on or timezone.localdate()
    if day > timezone.localdate():
        raise ApplicationError("The value date is in the future.", code="refund.in_the_future")
    if not_before is not None and day < timezone.localdate(not_before):
        raise ApplicationError(
            "The value date is before the refund was decided.", code="refund.before_decision"
        )
    return day


def _mark_paid(
    settlement: Settlement, reference: str, *, by: User, paid_by: User, valued_on: date
) -> Settlement:
    row, engagement = locked(settlement)
    require_finance(by)
    reference = validation.text(reference, noun="The payment reference")
    if row.state == State.PAID:
        if row.payment_reference != reference:
            raise ApplicationError(
                f"This settlement is already paid under {row.payment_reference}.",
                code="refund.already_paid",
            )
        return row
    require_state(row, State.APPROVED, State.PAYING, State.FAILED, to="to be marked as paid")
    require_another_payer(row, paid_by)
    if row.state != State.PAYING:
        disputes.require_none_open(row)
        if row.has_refund:
            # A transfer by hand that is recorded after the fact.
            _start(row, engagement, by, dated_on=valued_on)
    transfer = row.transfers.filter(outcome=Outcome.UNDER_WAY).first()
    if transfer:
        transfer.valued_on = valued_on
        _end(transfer, row, Outcome.PAID, reference=reference)
        postings.settlement_paid(transfer)
    row.paid_by, row.paid_at, row.payment_reference = paid_by, timezone.now(), reference
    label = "Paid" if row.has_refund else "Settled"
    account = transfer.account if transfer else None
    payee = f" to {account.masked}" if account else ""
    summary = f"{label}: {outcome_text(row)}{payee}, reference {reference}."
    advance(row, engagement, State.PAID, summary, by, reference=reference)
    enqueue("issue_document", "settlement_statement", f"settlement:{row.pk}")
    return row


@transaction.atomic
def mark_failed(
    *,
    settlement: Settlement,
    reason: str,
    by: User,
    attempt: int | None = None,
) -> Settlement:
    """Record a failed transfer. The refund may be retried or the settlement voided.

    The sender may not, or one person could send an approved refund again. `attempt` is the one
    shown to `by`: declined when another is on its way.
    """
    row, engagement = locked(settlement)
    require_finance(by)
    if row.state == State.FAILED:
        return row
    why = validation.text(reason, noun="The reason")
    require_state(row, State.PAYING, to="to be marked as failed")
    transfer = row.transfers.get(outcome=Outcome.UNDER_WAY)
    if attempt is not None and attempt != transfer.attempt:
        raise ApplicationError(
            "The refund was transferred again while you were looking; review it again.",
            code="refund.attempt_outdated",
        )
    second_person.require(
        by=by,
        others=[transfer.started_by_id],
        subject=row.subject,
        code="refund.same_person",
        message="You sent this refund: another person of finance marks it as failed.",
    )
    return _fail(transfer, row, engagement, why, by=by, valued_on=timezone.localdate())


def _fail(
    transfer: Transfer,
    row: Settlement,
    engagement: Engagement,
    why: str,
    *,
    by: User,
    valued_on: date,
) -> Settlement:
    _end(transfer, row, Outcome.FAILED, failure_reason=why, failed_by=by)
    postings.settlement_failed(transfer, dated_on=valued_on)
    advance(row, engagement, State.FAILED, f"The transfer failed: {why}", by, reason=why)
    return row


@transaction.atomic
def confirm_executed(
    *, transfer: Transfer, reference: str, valued_on: date, by: User
) -> Settlement:
    """Mark a transfer under way as paid, by the reference and value date of its bank line.

    Raises ApplicationError for one that was marked as failed: two refunds may have left.
    """
    row, _ = locked(transfer.settlement)
    if row.transfers.get(pk=transfer.pk).outcome != Outcome.UNDER_WAY:
        raise ApplicationError(
            f"{transfer.end_to_end_id} was marked as failed, but the bank executed it.",
            code="refund.executed_after_failure",
        )
    # The bank line is the proof of payment, so the payer is the user who started the transfer.
    return _mark_paid(row, reference, by=by, paid_by=transfer.started_by, valued_on=valued_on)


@transaction.atomic
def record_return(
    *, transfer: Transfer, reason: str, by: User, valued_on: date | None = None
) -> Settlement:
    """Fail a transfer that a bank line returns, under way or paid: its refund may be retried.

    Not by its sender. The line is matched to the transfer before. `valued_on` is its value date;
    None for today. A closed engagement is reopened.
    """
    row, engagement = locked(transfer.settlement)
    require_finance(by)
    transfer = row.transfers.get(pk=transfer.pk)
    day = valued_on or timezone.localdate()
    if transfer.outcome == Outcome.FAILED:
        return row
    if transfer.outcome == Outcome.UNDER_WAY:
        return _fail(transfer, row, engagement, reason, by=by, valued_on=day)
    others = Settlement.objects.filter(contract_version=row.contract_version).exclude(pk=row.pk)
    if others.exclude(state__in=(State.PAID, State.VOIDED)).exists():
        raise ApplicationError(
            "Void the open settlement of this contract first: the returned refund reopens the "
            "paid one.",
            code="refund.another_settlement_open",
        )
    _end(
        *(transfer, row, Outcome.FAILED),
        reference=transfer.reference,
        failure_reason=reason,
        failed_by=by,
    )
    postings.settlement_returned(transfer, dated_on=day)
    row.paid_by, row.paid_at, row.payment_reference = None, None, ""
    advance(row, engagement, State.FAILED, f"The bank returned it: {reason}", by, reason=reason)
    reopen(engagement, reason="the bank returned a refund", by=by)
    return row


def _start(
    row: Settlement,
    engagement: Engagement,
    by: User,
    *,
    file: TransferFile | None = None,
    dated_on: date | None = None,
) -> None:
    disputes.require_none_open(row)
    require_another_payer(row, by)
    account = refund_accounts.account_for(
        engagement.customer, by=by, approver=row.approved_by, subject=row.subject
    )
    _require_covered(row)
    attempt = row.transfers.count() + 1
    transfer = Transfer(
        settlement=row,
        attempt=attempt,
        method=Method.SEPA if file else Method.BY_HAND,
        amount=row.refund,
        currency=row.currency,
        payee=account.holder if account else "",
        iban=account.iban if account else "",
        bic=account.bic if account else "",
        account=account,
        end_to_end_id=end_to_end_id(row, engagement, attempt),
        file=file,
        started_by=by,
    )
    validation.save_validated(transfer)
    postings.settlement_paying(transfer, dated_on=dated_on or timezone.localdate())
    payee = f" Account: {account.masked}." if account else ""
    advance(row, engagement, State.PAYING, f"On its way: {outcome_text(row)}.{payee}", by)


def require_another_payer(settlement: Settlement, by: User) -> None:
    """Require that `by` did not approve the refund. Without a refund no money moves."""
    if settlement.has_refund:
        second_person.require(
            by=by,
            others=[settlement.approved_by_id],
            subject=settlement.subject,
            code="refund.same_person",
            message="You approved this refund: another person of finance pays it.",
        )


def end_to_end_id(settlement: Settlement, engagement: Engagement, attempt: int) -> str:
    """Return the transfer's reference for the customer: at most 35 characters, unique."""
    return f"{engagement.reference}-S{settlement.pk}-{attempt}".upper()[:35]


def _require_covered(settlement: Settlement) -> None:
    """Require confirmed payments to cover the refund, whatever happened since approval."""
    contract = settlement.contract_version
    received = payments.confirmed_total(contract.engagement)
    if settlement.refund > received - calculation.refunded(contract):
        raise ApplicationError(
            "The refund exceeds the payments received: void this settlement.",
            code="refund.exceeds_payments",
        )


def _end(
    transfer: Transfer,
    settlement: Settlement,
    outcome: Transfer.Outcome,
    *,
    reference: str = "",
    failure_reason: str = "",
    failed_by: User | None = None,
) -> None:
    transfer.outcome, transfer.ended_at = outcome, timezone.now()
    transfer.reference, transfer.failure_reason = reference, failure_reason
    transfer.failed_by = failed_by
    validation.save_validated(transfer)
    transfer.settlement = settlement
