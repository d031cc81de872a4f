"""SEPA credit transfer files (pain.001) of settlement refunds and overpayment refunds."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from sepaxml import SepaTransfer
from sepaxml.validation import try_valid_xml

from engagements.access import require_finance
from engagements.billing.balances import balance_of
from engagements.common.errors import ApplicationError
from engagements.engagement import stages
from engagements.payouts import overpayment_refunds, refund_accounts, refunds
from engagements.payouts.models import TransferFile
from engagements.payouts.overpayment_models import OverpaymentRefund
from engagements.payouts.queries import is_covered_by_settlement, overpaid_amount
from engagements.people import bank_accounts, second_person
from engagements.people.bank_accounts import BankAccount
from engagements.people.models import Customer, User
from engagements.settlements.models import Settlement

SCHEMA = "pain.001.001.09"
CURRENCY = "EUR"
# The characters that every bank accepts in a message's id, which is also the file's name.
MESSAGE_ID = re.compile(r"[A-Za-z0-9-]{1,35}")
# The agent of an account without a known BIC; ISO 20022 wants it named as not provided.
_EMPTY_AGENT = b"<FinInstnId />"
_UNKNOWN_AGENT = b"<FinInstnId><Othr><Id>NOTPROVIDED</Id></Othr></FinInstnId>"
State = Settlement.State


@dataclass(frozen=True)
class Payee:
    """One transfer of a file: amount in euros, account, and remittance information."""

    amount: Decimal
    account: BankAccount
    end_to_end_id: str
    description: str


def blocking_reason(settlement: Settlement) -> str | None:
    """Return why a refund cannot be sent by SEPA file, or None."""
    if settlement.state not in (State.APPROVED, State.FAILED):
        return f"The settlement is {settlement.get_state_display().lower()}."
    if not settlement.has_refund:
        return "The settlement has no refund."
    return _account_reason(settlement.contract_version.engagement.customer, settlement.currency)


def overpayment_blocking_reason(refund: OverpaymentRefund, *, by: User) -> str | None:
    """Return why `by` cannot send an overpayment refund by SEPA file, or None."""
    invoice = refund.invoice
    if refund.state != OverpaymentRefund.State.PROPOSED:
        return f"The refund is {refund.get_state_display().lower()}."
    if second_person.is_own(refund, by=by):
        return "You proposed this refund: another person of finance sends it."
    overpaid = overpaid_amount(balance_of(invoice))
    if is_covered_by_settlement(invoice) or overpaid < refund.amount:
        return "The refund exceeds the overpayment: void it."
    return _account_reason(invoice.engagement.customer, invoice.currency)


def _account_reason(customer: Customer, currency: str) -> str | None:
    if currency != CURRENCY:
        return f"SEPA transfers {CURRENCY} only: transfer {currency} by hand."
    return refund_accounts.blocking_reason(customer) or None


@transaction.atomic
def make(
    *,
    settlements: Sequence[Settlement],
    overpaid: Sequence[OverpaymentRefund] = (),
    message_id: str,
    by: User,
    shown: Collection[int] | None = None,
) -> TransferFile:
    """Make one file of these refunds and start their payment: all of them, or none.

    Idempotent by `message_id`; declined when repeated with other transfers. `shown` has the keys
    of the bank accounts that `by` saw: a transfer to another account is declined.
    """
    require_finance(by)
    if not MESSAGE_ID.fullmatch(message_id):
        raise ApplicationError(
            "Name the file with at most 35 letters, digits and hyphens.",
            code="transfer_file.invalid_name",
        )
    rows, overpayments = _locked(settlements, overpaid)
    existing = TransferFile.objects.filter(message_id=message_id).first()
    if existing:
        _require_same(existing, rows, overpayments)
        return existing
    _require_transferable(rows, overpayments, by)
    payees = [_payee(row) for row in rows]
    overpayment_payees = [_overpayment_payee(row) for row in overpayments]
    _require_shown([*payees, *overpayment_payees], shown)
    file = _create_file([*payees, *overpayment_payees], message_id, by)
    for row in rows:
        refunds.start_payment(settlement=row, by=by, file=file)
    for refund in overpayments:
        overpayment_refunds.send(refund=refund, by=by, file=file)
    return file


def _require_transferable(
    rows: Sequence[Settlement], overpayments: Sequence[OverpaymentRefund], by: User
) -> None:
    if not rows and not overpayments:
        raise ApplicationError("Choose at least one refund.", code="transfer_file.nothing_chosen")
    for engagement, reason in (
        *((row.contract_version.engagement, blocking_reason(row)) for row in rows),
        *(
            (row.invoice.engagement, overpayment_blocking_reason(row, by=by))
            for row in overpayments
        ),
    ):
        if reason:
            raise ApplicationError(
                f"{engagement.reference}: {reason}", code="transfer_file.not_transferable"
            )


def _require_same(
    existing: TransferFile, rows: Sequence[Settlement], overpayments: Sequence[OverpaymentRefund]
) -> None:
    requested = ({row.pk for row in rows}, {row.pk for row in overpayments})
    made = (
        set(existing.transfers.values_list("settlement", flat=True)),
        set(existing.overpayment_refunds.values_list("pk", flat=True)),
    )
    if requested != made:
        raise ApplicationError(
            "This file already exists with other transfers: reload and choose again.",
            code="transfer_file.already_made",
        )


def _require_shown(payees: Sequence[Payee], shown: Collection[int] | None) -> None:
    for payee in payees:
        if shown is not None and payee.account.pk not in shown:
            raise ApplicationError(
                f"The bank account of {payee.end_to_end_id} changed while you were looking: "
                f"review {payee.account}.",
                code="transfer_file.account_changed",
            )


def _create_file(payees: Sequence[Payee], message_id: str, by: User) -> TransferFile:
    content = compose(payees, message_id=message_id)
    return TransferFile.objects.create(
        message_id=message_id,
        currency=CURRENCY,
        total=sum((payee.amount for payee in payees), Decimal(0)),
        content=content,
        digest="sha256:" + hashlib.sha256(content).hexdigest(),
        made_by=by,
    )


def compose(payees: Sequence[Payee], *, message_id: str) -> bytes:
    """Return the file's XML. Raises ValueError where it violates the schema of pain.001."""
    sender = settings.BANK_ACCOUNT
    config: dict[str, Any] = {
        "name": sender["holder"],
        "IBAN": sender["iban"],
        "batch": True,
        "currency": CURRENCY,
    }
    if sender["bic"]:
        config["BIC"] = sender["bic"]
    transfer = _NamedTransfer(config, message_id=message_id)
    for payee in payees:
        transfer.add_payment(_payment(payee))
    content = bytes(transfer.export(validate=False)).replace(_EMPTY_AGENT, _UNKNOWN_AGENT)
    try_valid_xml(content, SCHEMA)
    return content


class _NamedTransfer(SepaTransfer):
    """A transfer message with our id, which is shown before the file is made."""

    def __init__(self, config: dict[str, Any], *, message_id: str) -> None:
        self._message_id = message_id
        super().__init__(config, schema=SCHEMA, clean=True)

    def _create_header(self) -> None:
        self.msg_id = self._message_id
        super()._create_header()


def _payment(payee: Payee) -> dict[str, Any]:
    account = payee.account
    payment = {
        "name": account.holder,
        "IBAN": account.iban,
        "amount": int(payee.amount * 100),  # in cents
        "execution_date": timezone.localdate(),
        "description": payee.description,
        "endtoend_id": payee.end_to_end_id,
    }
    return payment | ({"BIC": account.bic} if account.bic else {})


def _payee(settlement: Settlement) -> Payee:
    engagement = settlement.contract_version.engagement
    attempt = settlement.transfers.count() + 1
    return Payee(
        amount=settlement.refund,
        account=_account(engagement.customer),
        end_to_end_id=refunds.end_to_end_id(settlement, engagement, attempt),
        description=f"Refund {engagement.reference}, settlement {settlement.pk}",
    )


def _overpayment_payee(refund: OverpaymentRefund) -> Payee:
    invoice = refund.invoice
    return Payee(
        amount=refund.amount,
        account=_account(invoice.engagement.customer),
        end_to_end_id=overpayment_refunds.end_to_end_id(refund),
        description=f"Overpayment of {invoice.reference}",
    )


def _account(customer: Customer) -> BankAccount:
    account = bank_accounts.current(customer)
    assert account is not None  # _require_transferable has checked
    return account


def _locked(
    settlements: Sequence[Settlement], overpaid: Sequence[OverpaymentRefund]
) -> tuple[list[Settlement], list[OverpaymentRefund]]:
    """Reload both under the locks of their engagements, taken in the order of their keys."""
    rows = Settlement.objects.filter(pk__in=[row.pk for row in settlements])
    overpayments = OverpaymentRefund.objects.filter(pk__in=[row.pk for row in overpaid])
    keys = {
        *rows.values_list("contract_version__engagement", flat=True),
        *overpayments.values_list("invoice__engagement", flat=True),
    }
    for key in sorted(keys):
        stages.locked(key)
    return (
        list(rows.select_related("contract_version__engagement__customer").order_by("pk")),
        list(overpayments.select_related("invoice__engagement__customer").order_by("pk")),
    )
