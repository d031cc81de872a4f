"""CSV bank files: a second person compares them with the bank before their lines count.

A CSV is easily edited, so its importer alone could invent a payment or the return of a refund.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Max, QuerySet

from engagements.access import require_finance
from engagements.billing import bank_chain, bank_imports
from engagements.billing.bank_files import csv_file
from engagements.billing.bank_files.statement import (
    UNNAMED,
    StatementLine,
    entry_key,
    numbered,
)
from engagements.billing.bank_models import BankImport, BankImportConfirmation, BankLine
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.people import second_person
from engagements.people.models import User


@dataclass(frozen=True)
class Alike:
    """Lines of a file with the same facts and no reference of the bank's.

    `count` lines of the file are alike; `left_out` of them were taken for lines of earlier files.
    """

    line: StatementLine
    count: int
    left_out: int


def waiting() -> QuerySet[BankImport]:
    """CSV files that await their second person, the oldest first."""
    rows = BankImport.objects.filter(
        format=BankImport.Format.CSV, repeated_count__isnull=False, confirmation__isnull=True
    )
    return rows.defer("content").select_related("imported_by").order_by("pk")


def require_confirmed(line: BankLine) -> None:
    """Require that a second person confirmed the file of a line, if it is a CSV."""
    if line.bank_import.awaits_confirmation:
        raise ApplicationError(
            f"{line.bank_import} is a CSV, which can be edited: another person of finance than "
            f"{line.bank_import.imported_by} compares it with the bank and confirms it first.",
            code="bank_file.unconfirmed",
        )


@transaction.atomic
def confirm(*, bank_import: BankImport, by: User) -> BankImport:
    """Confirm that the lines of a CSV are those of the bank. Not its importer. Idempotent."""
    require_finance(by)
    row = BankImport.objects.select_for_update(of=("self",)).get(pk=bank_import.pk)
    if row.repeated_count is None:
        raise ApplicationError("Choose the columns of this file first.", code="bank_file.unparsed")
    if not row.awaits_confirmation:
        return row
    second_person.require(
        by=by,
        others=[row.imported_by_id],
        subject=row.subject,
        code="bank_file.same_person",
        message="You imported this CSV: another person of finance confirms it.",
    )
    row.confirmation = BankImportConfirmation(bank_import=row, confirmed_by=by)
    validation.save_validated(row.confirmation)
    return row


def alike_lines(bank_import: BankImport) -> list[Alike]:
    """Lines that may be other payments than those they equal: in one file, or in an earlier one."""
    groups: defaultdict[str, list[StatementLine]] = defaultdict(list)
    for line in _parsed(bank_import):
        if line.base:
            groups[line.base].append(line)
    stored = Counter(
        _facts(row)
        for row in bank_import.lines.filter(entry_reference__startswith=UNNAMED).iterator()
    )
    found = [
        Alike(lines[0], len(lines), len(lines) - stored[_facts(lines[0])])
        for lines in groups.values()
    ]
    return [each for each in found if each.count > 1 or each.left_out]


@transaction.atomic
def keep(*, bank_import: BankImport, key: str, by: User) -> BankImport:
    """Import the lines like the one with this key that were left out as known. Idempotent.

    Only until the file is confirmed, so that its second person sees them.
    """
    require_finance(by)
    row = BankImport.objects.select_for_update(of=("self",)).get(pk=bank_import.pk)
    bank_chain.lock()
    if not row.awaits_confirmation:
        raise ApplicationError(
            "This file is confirmed. Import the bank's next file.", code="bank_file.confirmed"
        )
    found = next((each for each in alike_lines(row) if each.line.key == key), None)
    if found is None or not found.left_out:
        return row
    known = _known_count(found.line.base)
    last = row.lines.aggregate(last=Max("position"))["last"] or 0
    account = (row.layout or {})["account"]
    bank_imports.add(
        [
            bank_imports.bank_line(row, last + n, account, numbered(found.line, known + n))
            for n in range(1, found.left_out + 1)
        ]
    )
    return row


def _parsed(bank_import: BankImport) -> tuple[StatementLine, ...]:
    if bank_import.layout is None:
        return ()
    layout = csv_file.Layout(**bank_import.layout)
    return csv_file.read(bytes(bank_import.content), layout).lines


def _known_count(base: str) -> int:
    """The number of identical lines in all files; they are numbered from one."""
    number = 0
    while BankLine.objects.filter(entry_key=entry_key(base, number + 1)).exists():
        number += 1
    return number


def _facts(line: StatementLine | BankLine) -> tuple[object, ...]:
    """The stored fields that distinguish lines without a reference of the bank."""
    payer, account = line.payer[:160], line.payer_account[:40]
    return line.booked_on, line.amount, line.currency, payer, account, line.text
