"""The lines of a bank statement, with the balances of its account."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from engagements.common import money

# Placeholders for a missing reference.
NO_REFERENCE = frozenset({"", "NOTPROVIDED", "NONREF", "NONE", "NOT PROVIDED"})
REFERENCE_CHARACTERS = 80
# Begins the references of lines for which the bank gave none.
UNNAMED = "Bank entry "
# Other years are errors of the file: the ledger would be dated in them.
YEARS = range(2000, 2100)


class UnreadableFile(ValueError):
    """A bank file that cannot be parsed; the message names the place."""


@dataclass(frozen=True)
class StatementLine:
    """A booked line: positive for money in, negative for money out.

    `key` is the same for the same line in any file. Two payments that are alike, without a
    reference of the bank's, cannot be told apart: they have the same `base`. `end_to_end_id` and
    `batch_id` are the ids that a payer gave to a transfer and to its file. `is_reversal` marks a
    line that undoes another; `return_reason` is the bank's reason for a returned transfer.
    """

    booked_on: date
    amount: Decimal
    currency: str
    payer: str
    payer_account: str
    text: str
    reference: str = ""
    key: str = ""
    base: str = ""
    valued_on: date | None = None
    end_to_end_id: str = ""
    batch_id: str = ""
    is_reversal: bool = False
    return_reason: str = ""


@dataclass(frozen=True)
class AccountStatement:
    """The lines of one account in one currency.

    `account` is an IBAN without spaces; the balances are None in formats without them.
    """

    account: str
    currency: str
    lines: tuple[StatementLine, ...]
    opening: Decimal | None = None
    closing: Decimal | None = None


@dataclass(frozen=True)
class BankFile:
    """The statements of a file; `skipped` counts pending lines and lines of zero."""

    statements: tuple[AccountStatement, ...]
    skipped: int

    @property
    def lines(self) -> tuple[StatementLine, ...]:
        """The lines of all statements, in order."""
        return tuple(line for statement in self.statements for line in statement.lines)


def exact_amount(amount: Decimal, currency: str) -> Decimal:
    """Return a finite `amount`, or raise UnreadableFile if it is too large for the database or
    has more decimals than `currency` (ISO 4217)."""
    if abs(amount) >= money.LIMIT:
        raise UnreadableFile(f"{amount} exceeds the largest amount supported.")
    try:
        if money.is_exact(amount, currency):
            return amount
    except money.UnknownCurrency as error:
        raise UnreadableFile(str(error)) from error
    raise UnreadableFile(f"{amount} has more decimals than {currency}.")


def plausible_day(day: date) -> date:
    """Return `day`, or raise ValueError for one of another century."""
    if day.year not in YEARS:
        raise ValueError(f"{day.isoformat()} is not a plausible booking date.")
    return day


def with_keys(lines: Iterable[StatementLine], *, account: str) -> tuple[StatementLine, ...]:
    """Key lines by the bank's reference, or else by their contents.

    Identical lines in one file are numbered in order. A line without a reference is named after
    its key.
    """
    count: Counter[str] = Counter()
    done = []
    for line in lines:
        bank_reference = line.reference.strip()
        bank_reference = "" if bank_reference.upper() in NO_REFERENCE else bank_reference
        facts = (line.booked_on.isoformat(), f"{line.amount.normalize():f}", line.currency)
        details = (
            (bank_reference,) if bank_reference else (line.payer, line.payer_account, line.text)
        )
        base = "\x1f".join((account, *facts, *details))
        count[base] += 1
        if not bank_reference:
            done.append(numbered(replace(line, base=base), count[base]))
            continue
        reference = bank_reference[:REFERENCE_CHARACTERS]
        if count[base] > 1:
            reference = f"{bank_reference[: REFERENCE_CHARACTERS - 8]} ({count[base]})"
        done.append(replace(line, key=entry_key(base, count[base]), reference=reference))
    return tuple(done)


def entry_key(base: str, number: int) -> str:
    """The key of the line with this number among those that are alike."""
    return "sha256:" + hashlib.sha256(f"{base}\x1f{number}".encode()).hexdigest()


def numbered(line: StatementLine, number: int) -> StatementLine:
    """A line without the bank's reference, as the one with this number among those alike."""
    key = entry_key(line.base, number)
    return replace(line, key=key, reference=f"{UNNAMED}{key[7:19]}")
