"""SEPA credit transfer files (pain.001): refunds and overpayments on their way back, in one file
for the bank."""

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

from engagements.access import require_finance
from engagements.billing.balances import balance_of
from engagements.common.errors import ApplicationError
from engagements.engagement import stages
from engagements.payouts import overpayment_refunds, refund_accounts, refunds
from engagements.payouts.models import OverpaymentRefund, TransferFile
from engagements.payouts.queries import excess_of, settled_by
from engagements.people.models import BankAccount, Customer, User
from engagements.settlements.models import Settlement

SCHEMA = "pain.001.001.09"
CURRENCY = "EUR"
# As every bank takes it, in the file and as the file's name.
MESSAGE_ID = re.compile(r"[A-Za-z0-9-]{1,35}")
State = Settlement.State


@dataclass(frozen=True)
class Payee:
    """One transfer of a file: how much (in euros), to whom, and what the customer reads."""

    amount: Decimal
    account: BankAccount
    end_to_end_id: str
    description: str


def obstacle(settlement: Settlement) -> str | None:
    """Why a settlement cannot go out by SEPA file; None when it can."""
    if settlement.state not in (State.APPROVED, State.FAILED):
        return f"It is {settlement.get_state_display().lower()}."
    if not settlement.has_refund:
        return "Nothing goes back."
    return _unreachable(settlement.contract_version.engagement.customer, settlement.currency)


def overpayment_blocking_reason(refund: OverpaymentRefund, *, by: User) -> str | None:
    """Why `by` cannot send an overpayment back by SEPA file; None when they can."""
    invoice = refund.invoice
    if refund.state != OverpaymentRefund.State.PROPOSED:
        return f"It is {refund.get_state_display().lower()}."
    if refund.proposed_by_id == by.pk:
        return "You proposed it, so somebody else sends it."
    if settled_by(invoice.engagement) or excess_of(balance_of(invoice)) < refund.amount:
        return "So much is no longer too much: void it."
    return _unreachable(invoice.engagement.customer, invoice.currency)


def _unreachable(customer: Customer, currency: str) -> str | None:
    if currency != CURRENCY:
        return f"SEPA moves {CURRENCY}; {currency} is transferred by hand."
    if refund_accounts.current(customer) is None:
        return "The customer's bank account is not known yet."
    return None


@transaction.atomic
def make(
    *,
    settlements: Sequence[Settlement],
    overpaid: Sequence[OverpaymentRefund] = (),
    message_id: str,
    by: User,
    shown: Collection[int] | None = None,
) -> TransferFile:
    """Make one file for these refunds and overpayments and start their payment: all, or none.

    Asked again with the same `message_id`, it is the same file, and refused where other
    transfers are asked for. Refused where one of them cannot go out, or to another bank account
    than those that `by` was `shown` (by their keys), and for a `message_id` that no bank takes.
    """
    require_finance(by)
    if not MESSAGE_ID.fullmatch(message_id):
        raise ApplicationError(
            "A file is named by at most 35 letters, digits and hyphens.", code="payouts.todo"
        )
    rows, backs = _locked(settlements, overpaid)
    known = TransferFile.objects.filter(message_id=message_id).first()
    if known:
        _require_same(known, rows, backs)
        return known
    if not rows and not backs:
        raise ApplicationError("No settlement was chosen, and no overpayment.", code="payouts.todo")
    for engagement, hindrance in (
        *((row.contract_version.engagement, obstacle(row)) for row in rows),
        *((row.invoice.engagement, overpayment_blocking_reason(row, by=by)) for row in backs),
    ):
        if hindrance:
            raise ApplicationError(f"{engagement.reference}: {hindrance}", code="payouts.todo")
    payees = [_refund(row) for row in rows]
    payees_back = [_back(row) for row in backs]
    _require_shown([*payees, *payees_back], shown)
    file = _written([*payees, *payees_back], message_id, by)
    for settlement, payee in zip(rows, payees, strict=True):
        refunds.start_payment(settlement=settlement, by=by, file=file, account=payee.account)
    for refund, payee in zip(backs, payees_back, strict=True):
        overpayment_refunds.send(refund=refund, by=by, file=file, account=payee.account)
    return file


def _require_same(
    known: TransferFile, rows: Sequence[Settlement], backs: Sequence[OverpaymentRefund]
) -> None:
    asked = ({row.pk for row in rows}, {row.pk for row in backs})
    held = (
        set(known.transfers.values_list("settlement", flat=True)),
        set(known.overpayment_refunds.values_list("pk", flat=True)),
    )
    if asked != held:
        raise ApplicationError(
            "This file was made already, with other transfers: look at what is left.",
            code="payouts.todo",
        )


def _require_shown(payees: Sequence[Payee], shown: Collection[int] | None) -> None:
    for payee in payees:
        if shown is not None and payee.account.pk not in shown:
            raise ApplicationError(
                f"{payee.end_to_end_id} would go to an account entered since you looked, "
                f"{payee.account}: look at it again.",
                code="payouts.todo",
            )


def _written(payees: Sequence[Payee], message_id: str, by: User) -> TransferFile:
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
    """The file's bytes, valid by the XML schema of pain.001. ValueError where they are not."""
    house = settings.BANK_ACCOUNT
    config: dict[str, Any] = {
        "name": house["holder"],
        "IBAN": house["iban"],
        "batch": True,
        "currency": CURRENCY,
    }
    if house["bic"]:
        config["BIC"] = house["bic"]
    transfer = _NamedTransfer(config, message_id=message_id)
    for payee in payees:
        transfer.add_payment(_payment(payee))
    return bytes(transfer.export(validate=True))


class _NamedTransfer(SepaTransfer):
    """The library names each message by itself; ours is named before it is shown."""

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
        # In cents: the library takes no decimals.
        "amount": int(payee.amount * 100),
        "execution_date": timezone.localdate(),
        "description": payee.description,
        "endtoend_id": payee.end_to_end_id,
    }
    return payment | ({"BIC": account.bic} if account.bic else {})


def _refund(settlement: Settlement) -> Payee:
    engagement = settlement.contract_version.engagement
    attempt = settlement.transfers.count() + 1
    return Payee(
        amount=settlement.refund,
        account=_account(engagement.customer),
        end_to_end_id=refunds.end_to_end_id(settlement, engagement, attempt),
        description=f"Refund {engagement.reference}, settlement {settlement.pk}",
    )


def _back(refund: OverpaymentRefund) -> Payee:
    invoice = refund.invoice
    return Payee(
        amount=refund.amount,
        account=_account(invoice.engagement.customer),
        end_to_end_id=overpayment_refunds.end_to_end_id(refund),
        description=f"Overpayment of {invoice.reference}",
    )


def _locked(
    settlements: Sequence[Settlement], overpaid: Sequence[OverpaymentRefund]
) -> tuple[list[Settlement], list[OverpaymentRefund]]:
    """Both read again under the locks of their engagements, taken in one order."""
    rows = Settlement.objects.filter(pk__in=[row.pk for row in settlements])
    backs = OverpaymentRefund.objects.filter(pk__in=[row.pk for row in overpaid])
    keys = {
        *rows.values_list("contract_version__engagement", flat=True),
        *backs.values_list("invoice__engagement", flat=True),
    }
    for key in sorted(keys):
        stages.locked(key)
    return (
        list(rows.select_related("contract_version__engagement__customer").order_by("pk")),
        list(backs.select_related("invoice__engagement__customer").order_by("pk")),
    )


def _account(customer: Customer) -> BankAccount:
    account = refund_accounts.current(customer)
    assert account is not None  # the obstacles have asked
    return account
