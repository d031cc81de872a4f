"""Where a customer's refunds go: checked when it is written down, the newest counts."""

from __future__ import annotations

from django.db import transaction
from schwifty import BIC, IBAN
from schwifty.exceptions import SchwiftyException

from engagements.access import require_finance
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.people.models import BankAccount, Customer, User


def valid_iban(text: str) -> str:
    """`text` as an IBAN without spaces. Refused where its check digits, its length or its
    country's own account format say that it is none."""
    try:
        return str(IBAN(text, validate_bban=True))
    except SchwiftyException as error:
        raise ApplicationError(
            f"{text.strip()[:40]} is no IBAN: check every digit.", code="payouts.todo"
        ) from error


def valid_bic(text: str) -> str:
    """`text` as a BIC, or nothing where it is empty. Refused where it is none."""
    if not text.strip():
        return ""
    try:
        return str(BIC(text))
    except SchwiftyException as error:
        raise ApplicationError(
            f"{text.strip()[:20]} is no BIC: it has 8 or 11 characters.", code="payouts.todo"
        ) from error


def current(customer: Customer) -> BankAccount | None:
    """The account that a refund of this customer goes to now."""
    return customer.bank_accounts.first()


@transaction.atomic
def add(*, customer: Customer, holder: str, iban: str, bic: str, by: User) -> BankAccount:
    """Write down where a customer's refunds go from now on. The same account stays one row."""
    require_finance(by)
    row = Customer.objects.select_for_update().get(pk=customer.pk)
    account = BankAccount(
        customer=row,
        holder=validation.text(holder, noun="The account holder"),
        iban=valid_iban(iban),
        bic=valid_bic(bic),
        added_by=by,
    )
    known = current(row)
    if known and (known.holder, known.iban, known.bic) == (
        account.holder,
        account.iban,
        account.bic,
    ):
        return known
    validation.save_validated(account)
    return account
