"""Hold bank files to our own accounts, and each statement to the balance of the one before."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from django.conf import settings
from django.db import connection

from engagements.billing.bank_files.statement import AccountStatement
from engagements.billing.bank_models import BankImport, BankLine, BankStatement
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money

NOTHING = Decimal(0)


def own_ibans() -> list[str]:
    """Our own accounts: that on our invoices, then the others."""
    return [settings.BANK_ACCOUNT["iban"], *settings.OTHER_BANK_ACCOUNTS]


def require_own(statements: Iterable[AccountStatement]) -> None:
    """Require every statement to be of one of our accounts."""
    for statement in statements:
        if statement.account not in own_ibans():
            raise ApplicationError(
                f"The file is a statement of {statement.account or 'an unnamed account'}, which is "
                "not one of our accounts.",
                code="bank_file.other_account",
            )


def lock() -> None:
    """Let one import at a time read and extend the chains, until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(202604, 1)")


def extend(bank_import: BankImport, statement: AccountStatement, known: set[str]) -> None:
    """Record a statement's balances; decline one that does not continue its account's chain.

    `known` are the keys of its lines that other files had. The statement may follow the last one,
    precede the first one, or repeat either in part.
    """
    fresh = sum((line.amount for line in statement.lines if line.key not in known), NOTHING)
    is_new = any(line.key not in known for line in statement.lines)
    chain = BankStatement.objects.filter(account=statement.account, currency=statement.currency)
    _require_one_format(bank_import, statement)
    last = chain.filter(chain_end__isnull=False).last()
    start, end = (last.chain_start, last.chain_end) if last else (None, None)
    if statement.closing is not None and statement.opening is not None:
        if start is None or end is None:
            start, end = statement.opening, statement.closing
        elif is_new and statement.closing == end + fresh:
            end = statement.closing
        elif is_new and statement.opening == start - fresh:
            start = statement.opening
        elif is_new:
            raise _gap(statement, end)
    BankStatement.objects.create(
        bank_import=bank_import,
        account=statement.account,
        currency=statement.currency,
        opening=statement.opening,
        closing=statement.closing,
        chain_start=start,
        chain_end=end,
    )


def latest_balances() -> list[BankStatement]:
    """The latest chained balance of each of our accounts, by account and currency."""
    chained = BankStatement.objects.filter(chain_end__isnull=False)
    return list(chained.order_by("account", "currency", "-pk").distinct("account", "currency"))


def _gap(statement: AccountStatement, end: Decimal) -> ApplicationError:
    assert statement.opening is not None
    opening, last = (format_money(x, statement.currency) for x in (statement.opening, end))
    return ApplicationError(
        f"The statement of {statement.account} opens with {opening}, but the last one closed with "
        f"{last}. Import the statements in between first.",
        code="bank_file.gap",
    )


def _require_one_format(bank_import: BankImport, statement: AccountStatement) -> None:
    """Decline days that a file of the other format has: its lines would count twice."""
    days = [line.booked_on for line in statement.lines]
    if not days:
        return
    others = BankLine.objects.filter(
        account=statement.account,
        currency=statement.currency,
        booked_on__gte=min(days),
        booked_on__lte=max(days),
    ).exclude(bank_import__format=bank_import.format)
    other = others.select_related("bank_import").defer("bank_import__content").first()
    if other is not None:
        raise ApplicationError(
            f"{other.bank_import} already has lines of these days in another format.",
            code="bank_file.other_format",
        )
