"""SEPA credit transfer files (pain.001): several approved settlements in one file for the bank."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from sepaxml import SepaTransfer

from engagements import faults
from engagements.errors import Refused
from engagements.models import BankAccount, Engagement, Settlement, TransferFile, User
from engagements.services import bank_accounts, lifecycle, refunds
from engagements.services.milestones import require_finance

SCHEMA = "pain.001.001.09"
CURRENCY = "EUR"
State = Settlement.State


def obstacle(settlement: Settlement) -> str | None:
    """Why a settlement cannot go out by SEPA file; None when it can."""
    if settlement.state not in (State.APPROVED, State.FAILED):
        return f"It is {settlement.get_state_display().lower()}."
    if settlement.currency != CURRENCY:
        return f"SEPA moves {CURRENCY}; {settlement.currency} is transferred by hand."
    if settlement.refund <= 0:
        return "Nothing goes back."
    if bank_accounts.current(settlement.contract_version.engagement.customer) is None:
        return "The customer's bank account is not known yet."
    return None


@transaction.atomic
def make(*, settlements: Sequence[Settlement], message_id: str, by: User) -> TransferFile:
    """Make one file for these settlements and start their payment: all of them, or none.

    Asked again with the same `message_id` (at most 35 characters), it is the same file. Refused
    where one of them cannot go out.
    """
    require_finance(by)
    rows = _locked(settlements)
    known = TransferFile.objects.filter(message_id=message_id).first()
    if known:
        return known
    if not rows:
        raise Refused("No settlement was chosen.")
    for row in rows:
        hindrance = obstacle(row)
        if hindrance:
            raise Refused(f"{row.contract_version.engagement.reference}: {hindrance}")
    payees = [(row, _account(row)) for row in rows]
    content = compose(payees, message_id=message_id)
    file = TransferFile.objects.create(
        message_id=message_id,
        currency=CURRENCY,
        total=sum((row.refund for row in rows), Decimal(0)),
        content=content,
        digest="sha256:" + hashlib.sha256(content).hexdigest(),
        made_by=by,
    )
    faults.point("make_transfer_file.written")
    for row, account in payees:
        refunds.start_payment(settlement=row, by=by, file=file, account=account)
    return file


def compose(payees: Sequence[tuple[Settlement, BankAccount]], *, message_id: str) -> bytes:
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
    for settlement, account in payees:
        transfer.add_payment(_payment(settlement, account))
    return bytes(transfer.export(validate=True))


class _NamedTransfer(SepaTransfer):
    """The library names each message by itself; ours is named before it is shown."""

    def __init__(self, config: dict[str, Any], *, message_id: str) -> None:
        self._message_id = message_id
        super().__init__(config, schema=SCHEMA, clean=True)

    def _create_header(self) -> None:
        self.msg_id = self._message_id
        super()._create_header()


def _payment(settlement: Settlement, account: BankAccount) -> dict[str, Any]:
    engagement = settlement.contract_version.engagement
    attempt = settlement.transfers.count() + 1
    payment = {
        "name": account.holder,
        "IBAN": account.iban,
        # In cents: the library takes no decimals.
        "amount": int(settlement.refund * 100),
        "execution_date": timezone.localdate(),
        "description": f"Refund {engagement.reference}, settlement {settlement.pk}",
        "endtoend_id": refunds.end_to_end_id(settlement, engagement, attempt),
    }
    return payment | ({"BIC": account.bic} if account.bic else {})


def _locked(settlements: Sequence[Settlement]) -> list[Settlement]:
    """The settlements read again under the locks of their engagements, taken in one order."""
    keys = [settlement.pk for settlement in settlements]
    wanted = Settlement.objects.filter(pk__in=keys)
    engagements: dict[int, Engagement] = {}
    for key in sorted(wanted.values_list("contract_version__engagement", flat=True).distinct()):
        engagements[key] = lifecycle.locked(key)
    rows = list(wanted.select_related("contract_version").order_by("pk"))
    for row in rows:
        row.contract_version.engagement = engagements[row.contract_version.engagement_id]
    return rows


def _account(settlement: Settlement) -> BankAccount:
    account = bank_accounts.current(settlement.contract_version.engagement.customer)
    assert account is not None  # `obstacle` has asked
    return account
