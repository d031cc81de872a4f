"""Match bank lines with our own refunds: executed ones, and those that the bank returned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from engagements.access import require_finance
from engagements.billing import csv_confirmations, line_proposals, reconciliation
from engagements.billing import postings as line_postings
from engagements.billing.bank_models import BankImport, BankLine
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.engagement import stages
from engagements.payouts import overpayment_refunds, postings, refund_accounts, refunds
from engagements.payouts.match_models import TransferMatch
from engagements.payouts.models import Transfer
from engagements.payouts.overpayment_models import OverpaymentRefund
from engagements.people import second_person
from engagements.people.models import User
from engagements.settlements import finance_mails

State, Kind = BankLine.State, TransferMatch.Kind
Refund: TypeAlias = Transfer | OverpaymentRefund


@dataclass(frozen=True)
class Outcome:
    """The number of matched lines of a file, and the errors of the others."""

    matched: int
    errors: tuple[str, ...]


def match_import(*, bank_import: BankImport, by: User) -> Outcome:
    """Match the open lines of a file that carry our ids, each in its own transaction.

    A CSV waits until a second person confirmed it. Mails finance about lines that quote neither a
    refund nor an invoice.
    """
    require_finance(by)
    if bank_import.awaits_confirmation:
        finance_mails.ask_for_csv_confirmation(bank_import=bank_import)
        return Outcome(0, ())
    matched, errors = 0, []
    unnamed = Q(end_to_end_id="", batch_id="")
    for line in bank_import.lines.filter(state=State.OPEN).exclude(unnamed):
        targets = refunds_named_by(line)
        if not targets:
            continue
        try:
            match(line=line, targets=targets, by=by)
            matched += 1
        except ApplicationError as error:
            errors.append(f"{line}: {error}")
    certain = sum(row.is_certain for row in line_proposals.proposals(_credits(bank_import)))
    count = bank_import.lines.filter(state=State.OPEN).count() - certain
    if count:
        finance_mails.warn_of_open_lines(
            bank_import=bank_import.pk, filename=bank_import.filename, count=count
        )
    return Outcome(matched, tuple(errors))


def _credits(bank_import: BankImport) -> list[BankLine]:
    return list(bank_import.lines.filter(state=State.OPEN, amount__gt=0))


def refunds_named_by(line: BankLine) -> list[Refund]:
    """The refund with the line's end-to-end id, or those of the file with its message id."""
    if line.end_to_end_id:
        name = line.end_to_end_id
        return [
            *Transfer.objects.filter(end_to_end_id__iexact=name),
            *OverpaymentRefund.objects.filter(left__reference__iexact=name),
        ]
    if line.is_credit or not line.batch_id:
        return []
    return [
        *Transfer.objects.filter(file__message_id=line.batch_id),
        *OverpaymentRefund.objects.filter(file__message_id=line.batch_id),
    ]


def candidates(line: BankLine) -> list[Refund]:
    """Refunds that a line may show, for a person to choose from.

    Over exactly its amount; a returned one may be less by the bank's charge.
    """
    kind, amount = kind_of(line), abs(line.amount)
    most = amount + (settings.WRITE_OFF_LIMIT if kind == Kind.RETURNED else 0)
    unmatched = ~Q(matches__kind=kind)
    states = ["paying", "paid"]
    return [
        *Transfer.objects.filter(
            unmatched, amount__range=(amount, most), currency=line.currency
        ).exclude(outcome=Transfer.Outcome.FAILED),
        *OverpaymentRefund.objects.filter(
            unmatched,
            amount__range=(amount, most),
            invoice__currency=line.currency,
            state__in=states,
        ).select_related("invoice"),
    ]


def kind_of(line: BankLine) -> TransferMatch.Kind:
    """A debit shows executed refunds, a credit returned ones."""
    return Kind.RETURNED if line.is_credit else Kind.EXECUTED


@transaction.atomic
def match(*, line: BankLine, targets: Sequence[Refund], by: User) -> BankLine:
    """Match a line with the refunds that it shows, whose amounts add up to it. Idempotent.

    The bank may keep a fee of a returned refund, up to the limit of write-offs. A debit marks
    refunds as paid. A credit fails them, paid or not, and they may be retried.
    """
    require_finance(by)
    for engagement in sorted({_engagement_of(target) for target in targets}):
        stages.locked(engagement)
    row = BankLine.objects.select_for_update(of=("self",)).get(pk=line.pk)
    if row.state == State.MATCHED:
        _require_matched_with(row, targets)
        return row
    _require_matchable(row, targets)
    _require_another(row, targets, by)
    if row.state == State.SET_ASIDE:
        line_postings.bank_line_taken_up(row)
    for target in targets:
        _match_one(row, target, by, charges=_charges(row, targets))
    return reconciliation.handle(row, State.MATCHED, by)


def _require_matched_with(line: BankLine, targets: Sequence[Refund]) -> None:
    known = [row.transfer or row.overpayment_refund for row in line.transfer_matches.all()]
    if set(known) != set(targets):
        raise ApplicationError(
            "This line is already matched with another refund.", code="bank_line.matched"
        )


def _require_matchable(line: BankLine, targets: Sequence[Refund]) -> None:
    csv_confirmations.require_confirmed(line)
    if line.state == State.ASSIGNED:
        raise ApplicationError(
            "This line is already assigned to an invoice.", code="bank_line.assigned"
        )
    total = sum((target.amount for target in targets), Decimal(0))
    if not targets or {_currency_of(target) for target in targets} != {line.currency}:
        raise ApplicationError(
            f"Choose refunds in {line.currency}.", code="bank_line.no_refund_chosen"
        )
    if total - _charges(line, targets) != abs(line.amount):
        raise ApplicationError(
            f"The refunds add up to {format_money(total, line.currency)}, the line is over "
            f"{format_money(abs(line.amount), line.currency)}.",
            code="bank_line.other_amount",
        )
    _require_our_payee(line, targets)


def _require_another(line: BankLine, targets: Sequence[Refund], by: User) -> None:
    """Require another person than the sender to match a return.

    Otherwise the sender could take a customer's payment for it, and send the refund again.
    """
    for target in targets:
        if line.is_credit and isinstance(target, Transfer):
            second_person.require(
                by=by,
                others=[target.started_by_id],
                subject=target.settlement.subject,
                code="refund.same_person",
                message="You sent this refund: another person of finance matches its return.",
            )


def _require_our_payee(line: BankLine, targets: Sequence[Refund]) -> None:
    """Require a debit to name the account that its refund was sent to, if it names an IBAN."""
    if line.is_credit or len(targets) != 1 or not targets[0].iban:
        return
    try:
        paid = refund_accounts.valid_iban(line.payer_account)
    except ApplicationError:
        return
    if paid != targets[0].iban:
        raise ApplicationError(
            f"The bank paid {paid}, but this refund was sent to {targets[0].iban}. Ask the bank. "
            "If the customer has not received it, set this line aside and mark the refund as "
            "failed.",
            code="bank_line.other_payee",
        )


def _charges(line: BankLine, targets: Sequence[Refund]) -> Decimal:
    """The bank's charge on a returned refund; zero above the limit."""
    if not line.is_credit or len(targets) != 1:
        return Decimal(0)
    kept = targets[0].amount - line.amount
    return kept if 0 < kept <= settings.WRITE_OFF_LIMIT else Decimal(0)


def _match_one(line: BankLine, target: Refund, by: User, *, charges: Decimal) -> None:
    kind = kind_of(line)
    found = TransferMatch(
        kind=kind,
        line=line,
        transfer=target if isinstance(target, Transfer) else None,
        overpayment_refund=target if isinstance(target, OverpaymentRefund) else None,
        amount=target.amount,
        charges=charges,
    )
    validation.save_validated(found)
    if charges:
        postings.return_charged(found, stages.locked(_engagement_of(target)))
    reason, day = line.return_reason or "Returned by the bank", line.valued_on
    if isinstance(target, Transfer):
        if kind == Kind.RETURNED:
            refunds.record_return(transfer=target, reason=reason, by=by, valued_on=day)
        elif target.outcome != Transfer.Outcome.PAID:
            refunds.confirm_executed(
                transfer=target, reference=line.entry_reference, valued_on=day, by=by
            )
    elif kind == Kind.RETURNED:
        overpayment_refunds.record_return(refund=target, reason=reason, by=by, valued_on=day)
    elif target.state != OverpaymentRefund.State.PAID:
        overpayment_refunds.confirm_executed(
            refund=target, reference=line.entry_reference, valued_on=day, by=by
        )


def _engagement_of(refund: Refund) -> int:
    if isinstance(refund, Transfer):
        return refund.settlement.contract_version.engagement_id
    return refund.invoice.engagement_id


def _currency_of(refund: Refund) -> str:
    return refund.currency if isinstance(refund, Transfer) else refund.invoice.currency
