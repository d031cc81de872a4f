"""Paying a settlement: started, confirmed or failed, by attempts. Approval is no payment."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from engagements.access import require_finance
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.queue import enqueue
from engagements.engagement.models import Engagement
from engagements.payouts import postings
from engagements.payouts.models import Transfer, TransferFile
from engagements.people.models import BankAccount, User
from engagements.settlements import calculation, disputes
from engagements.settlements.models import Settlement
from engagements.settlements.steps import advance, locked, require_state, told

State = Settlement.State
Method, Outcome = Transfer.Method, Transfer.Outcome


@transaction.atomic
def start_payment(
    *,
    settlement: Settlement,
    by: User,
    file: TransferFile | None = None,
    account: BankAccount | None = None,
) -> Settlement:
    """The transfer is on its way; after a failed one this tries again. Money in flight is gone.

    With a `file` (and the customer's bank `account` that it names) it goes by SEPA, else
    somebody makes it by hand.
    """
    row, engagement = locked(settlement)
    require_finance(by)
    if row.state in (State.PAYING, State.PAID):
        return row
    require_state(row, State.APPROVED, State.FAILED, to="to be paid")
    if not row.has_refund:
        raise ApplicationError(
            "Nothing goes back: there is nothing to transfer.", code="payouts.todo"
        )
    _start(row, engagement, by, file=file, account=account)
    return row


@transaction.atomic
def mark_paid(*, settlement: Settlement, reference: str, by: User) -> Settlement:
    """The money has moved, under `reference` of the bank. The statement is issued."""
    row, engagement = locked(settlement)
    require_finance(by)
    reference = validation.text(reference, noun="The payment reference")
    if row.state == State.PAID:
        if row.payment_reference != reference:
            raise ApplicationError(
                f"This settlement was paid already, as {row.payment_reference}.",
                code="payouts.todo",
            )
        return row
    require_state(row, State.APPROVED, State.PAYING, State.FAILED, to="to be marked as paid")
    if row.state != State.PAYING:
        disputes.require_none_open(row)
        if row.has_refund:
            # Made by hand and told afterwards: it was on its way all the same.
            _start(row, engagement, by)
    transfer = row.transfers.filter(outcome=Outcome.UNDER_WAY).first()
    if transfer:
        _end(transfer, row, Outcome.PAID, reference=reference)
        postings.settlement_paid(transfer)
    row.paid_by, row.paid_at, row.payment_reference = by, timezone.now(), reference
    verb = "Paid" if row.has_refund else "Settled"
    summary = f"{verb}: {told(row)}, reference {reference}."
    advance(row, engagement, State.PAID, summary, by, reference=reference)
    enqueue("issue_document", "settlement_statement", f"settlement:{row.pk}")
    return row


@transaction.atomic
def mark_failed(
    *, settlement: Settlement, reason: str, by: User, attempt: int | None = None
) -> Settlement:
    """The transfer came back. It may be started again, or the settlement voided.

    `attempt` is the one that `by` was shown: refused when another is on its way by now.
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
            "It was transferred anew since you looked: open this page again.", code="payouts.todo"
        )
    _end(transfer, row, Outcome.FAILED, failure_reason=why)
    postings.settlement_failed(transfer)
    advance(row, engagement, State.FAILED, f"The transfer failed: {why}", by, reason=why)
    return row


def _start(
    row: Settlement,
    engagement: Engagement,
    by: User,
    *,
    file: TransferFile | None = None,
    account: BankAccount | None = None,
) -> None:
    disputes.require_none_open(row)
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
        end_to_end_id=end_to_end_id(row, engagement, attempt),
        file=file,
        started_by=by,
    )
    validation.save_validated(transfer)
    transfer.settlement = row
    postings.settlement_paying(transfer)
    advance(row, engagement, State.PAYING, f"On its way: {told(row)}.", by)


def end_to_end_id(settlement: Settlement, engagement: Engagement, attempt: int) -> str:
    """What the customer reads beside the money: at most 35 characters, once an attempt."""
    return f"{engagement.reference}-S{settlement.pk}-{attempt}".upper()[:35]


def _require_covered(settlement: Settlement) -> None:
    """No more ever goes back than came in, whatever was received or paid since."""
    figures = calculation.preview(contract=settlement.contract_version)
    if settlement.refund > figures.payments_received - figures.refunded_before:
        raise ApplicationError(
            "More would go back than came in: void this settlement.", code="payouts.todo"
        )


def _end(
    transfer: Transfer,
    settlement: Settlement,
    outcome: Transfer.Outcome,
    *,
    reference: str = "",
    failure_reason: str = "",
) -> None:
    transfer.outcome, transfer.ended_at = outcome, timezone.now()
    transfer.reference, transfer.failure_reason = reference, failure_reason
    validation.save_validated(transfer)
    transfer.settlement = settlement
