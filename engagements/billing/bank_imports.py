"""Import bank statements: store the file, parse it once, store and post each line once."""

from __future__ import annotations

import hashlib
from typing import Any

from django.db import transaction

from engagements.access import require_finance
from engagements.billing import bank_chain, postings
from engagements.billing.bank_files import camt053, csv_file
from engagements.billing.bank_files.statement import BankFile, StatementLine, UnreadableFile
from engagements.billing.bank_models import BankImport, BankLine
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.people.models import User

MAX_BYTES = 8 * 1024 * 1024
Format = BankImport.Format


@transaction.atomic
def import_file(*, filename: str, content: bytes, by: User) -> BankImport:
    """Store and parse a bank file. The same bytes are the same import.

    A CSV with an unknown heading, or one that its remembered layout does not fit, is stored
    unparsed until `choose_columns`. A file that cannot be parsed at all is not stored, nor one of
    an account that is not ours, nor one that does not continue the balances of the last.
    """
    require_finance(by)
    if len(content) > MAX_BYTES:
        raise ApplicationError(
            f"The file exceeds {MAX_BYTES // 1024**2} MiB.", code="bank_file.too_large"
        )
    digest = _digest(content)
    known = BankImport.objects.filter(digest=digest).first()
    if known:
        return known
    row = BankImport(filename=filename[:160], content=content, digest=digest, imported_by=by)
    try:
        bank_file = _first_reading(row, content)
    except UnreadableFile as error:
        raise ApplicationError(str(error), code="bank_file.unreadable") from error
    try:
        validation.save_validated(row)
    except ApplicationError:
        # Another request may have imported the same file.
        known = BankImport.objects.filter(digest=digest).first()
        if known is None:
            raise
        return known
    if bank_file is not None:
        _store(row, bank_file)
    return row


def is_known(content: bytes) -> bool:
    """Whether the same file was imported before."""
    return BankImport.objects.filter(digest=_digest(content)).exists()


def _digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


@transaction.atomic
def choose_columns(*, bank_import: BankImport, layout: csv_file.Layout, by: User) -> BankImport:
    """Parse a stored CSV with `layout`, and remember it for files with the same heading."""
    require_finance(by)
    row = BankImport.objects.select_for_update().get(pk=bank_import.pk)
    if row.repeated_count is not None:
        if row.layout != layout.as_data():
            raise ApplicationError(
                "This file is already imported with other columns.", code="bank_file.parsed"
            )
        return row
    try:
        bank_file = csv_file.read(bytes(row.content), layout)
    except UnreadableFile as error:
        raise ApplicationError(str(error), code="bank_file.unreadable") from error
    row.layout = layout.as_data()
    _store(row, bank_file)
    return row


@transaction.atomic
def delete(*, bank_import: BankImport, by: User) -> None:
    """Delete a file that was not parsed yet. Idempotent."""
    require_finance(by)
    row = BankImport.objects.select_for_update().filter(pk=bank_import.pk).first()
    if row is None:
        return
    if row.repeated_count is not None:
        raise ApplicationError(
            "An imported file cannot be deleted.", code="bank_file.delete_parsed"
        )
    row.delete()


def remembered_layout(heading: str) -> dict[str, Any] | None:
    """The layout of the latest file with this heading."""
    last = BankImport.objects.filter(heading=heading, layout__isnull=False).first()
    return last.layout if last else None


def _first_reading(row: BankImport, content: bytes) -> BankFile | None:
    if camt053.looks_like(content):
        row.format = Format.CAMT053
        return camt053.read(content)
    row.format = Format.CSV
    row.heading = csv_file.open_table(content).heading
    remembered = remembered_layout(row.heading)
    # A heading does not name the account, so with several of them a person does.
    if remembered is None or len(bank_chain.own_ibans()) > 1:
        return None
    layout = csv_file.Layout(**remembered)
    try:
        bank_file = csv_file.read(content, layout)
    except UnreadableFile:
        # The bank changed its format, or the layout was wrong.
        return None
    row.layout = remembered
    return bank_file


def _store(row: BankImport, bank_file: BankFile) -> None:
    """Store and post the new lines, and count the repeated and the skipped ones."""
    bank_chain.require_own(bank_file.statements)
    bank_chain.lock()
    keys = [line.key for line in bank_file.lines]
    known = set(BankLine.objects.filter(entry_key__in=keys).values_list("entry_key", flat=True))
    for statement in bank_file.statements:
        bank_chain.extend(row, statement, known)
    fresh = [
        bank_line(row, position, statement.account, line)
        for position, (statement, line) in enumerate(
            ((statement, line) for statement in bank_file.statements for line in statement.lines),
            start=1,
        )
        if line.key not in known
    ]
    add(fresh)
    row.repeated_count = len(known)
    row.passed_over_count = bank_file.skipped
    row.save(update_fields=["layout", "repeated_count", "passed_over_count"])


def add(lines: list[BankLine]) -> None:
    """Store and post new lines."""
    BankLine.objects.bulk_create(lines)
    postings.bank_lines_imported(lines)


def bank_line(row: BankImport, position: int, account: str, line: StatementLine) -> BankLine:
    """The unsaved row of a parsed line."""
    return BankLine(
        bank_import=row,
        position=position,
        account=account,
        entry_key=line.key,
        entry_reference=line.reference,
        booked_on=line.booked_on,
        valued_on=line.valued_on or line.booked_on,
        amount=line.amount,
        currency=line.currency,
        payer=line.payer[:160],
        payer_account=line.payer_account[:40],
        text=line.text,
        end_to_end_id=line.end_to_end_id,
        batch_id=line.batch_id,
        is_reversal=line.is_reversal,
        return_reason=line.return_reason,
    )
