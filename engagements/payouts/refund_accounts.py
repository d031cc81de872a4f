"""Customers' bank accounts for refunds. The newest is in use."""

from __future__ import annotations

from django.db import transaction
from schwifty import BIC, IBAN
from schwifty.exceptions import SchwiftyException

from engagements.access import require_finance
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.people.models import BankAccount, Customer, User


def valid_iban(text: str) -> str:
    """Return `text` as an IBAN without spaces, its check digits and national format verified."""
    try:
        return str(IBAN(text, validate_bban=True))
    except SchwiftyException as error:
        raise ApplicationError(
            f"{text.strip()[:40]} is not a valid IBAN: check every digit.",
            code="refund_account.invalid_iban",
        ) from error


def valid_bic(text: str) -> str:
    """Return `text` as a BIC, or "" for an empty one."""
    if not text.strip():
        return ""
    try:
        return str(BIC(text))
    except SchwiftyException as error:
        raise ApplicationError(
            f"{text.strip()[:20]} is not a valid BIC: enter 8 or 11 characters.",
            code="refund_account.invalid_bic",
        ) from error


def current(customer: Customer) -> BankAccount | None:
    """Return the account to which the customer's refunds are paid now."""
    return customer.bank_accounts.first()


@transaction.atomic
def add(*, customer: Customer, holder: str, iban: str, bic: str, by: User) -> BankAccount:
    """Set the account of the customer's future refunds. Idempotent for the current account."""
    require_finance(by)
    row = Customer.objects.select_for_update().get(pk=customer.pk)
    account = BankAccount(
        customer=row,
        holder=validation.text(holder, noun="The account holder"),
        iban=valid_iban(iban),
        bic=valid_bic(bic),
        added_by=by,
    )
    existing = current(row)
    if existing and all(
        getattr(existing, name) == getattr(account, name) for name in ("holder", "iban", "bic")
    ):
        return existing
    validation.save_validated(account)
    return account
