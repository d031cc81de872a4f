"""Import bank statements: store the file, parse it once, store each line once."""

from __future__ import annotations

import hashlib
from typing import Any

from django.db import transaction

from engagements.access import require_finance
from engagements.billing.bank_files import camt053, csv_file
from engagements.billing.bank_files.statement import Statement, UnreadableFile
from engagements.billing.payment_models import BankImport, BankLine
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.people.models import User

MAX_BYTES = 8 * 1024 * 1024
Format = BankImport.Format


@transaction.atomic
def import_file(*, filename: str, content: bytes, by: User) -> BankImport:
    """Store and parse a bank file. The same bytes are the same import.

    A CSV with an unknown heading, or one that its remembered layout does not fit, is stored
    unparsed until `choose_columns`. A file that cannot be parsed at all is not stored.
    """
    require_finance(by)
    if len(content) > MAX_BYTES:
        raise ApplicationError(
            f"The file exceeds {MAX_BYTES // 1024**2} MiB.", code="bank_file.too_large"
        )
    digest = "sha256:" + hashlib.sha256(content).hexdigest()
    known = BankImport.objects.filter(digest=digest).first()
    if known:
        return known
    row = BankImport(filename=filename[:160], content=content, digest=digest, imported_by=by)
    try:
        statement = _first_reading(row, content)
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
    if statement is not None:
        _store(row, statement)
    return row


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
        statement = csv_file.read(bytes(row.content), layout)
    except UnreadableFile as error:
        raise ApplicationError(str(error), code="bank_file.unreadable") from error
    row.layout = layout.as_data()
    _store(row, statement)
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


def _first_reading(row: BankImport, content: bytes) -> Statement | None:
    if camt053.looks_like(content):
        row.format = Format.CAMT053
        return camt053.read(content)
    row.format = Format.CSV
    row.heading = csv_file.open_table(content).heading
    remembered = remembered_layout(row.heading)
    if remembered is None:
        return None
    try:
        statement = csv_file.read(content, csv_file.Layout(**remembered))
    except UnreadableFile:
        # The bank changed its format, or the layout was wrong.
        return None
    row.layout = remembered
    return statement


def _store(row: BankImport, statement: Statement) -> None:
    """Store the new lines, and count the repeated and the skipped ones."""
    BankLine.objects.bulk_create(
        (
            BankLine(
                bank_import=row,
                position=position,
                entry_key=line.key,
                entry_reference=line.reference,
                booked_on=line.booked_on,
                amount=line.amount,
                currency=line.currency,
                payer=line.payer[:160],
                payer_account=line.payer_account[:40],
                text=line.text,
            )
            for position, line in enumerate(statement.lines, start=1)
        ),
        ignore_conflicts=True,
    )
    row.repeated_count = len(statement.lines) - row.lines.count()
    row.passed_over_count = statement.skipped
    row.save(update_fields=["layout", "repeated_count", "passed_over_count"])
