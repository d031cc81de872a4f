"""Bank files taken in: kept as they are, read once, and each entry in them known once."""

from __future__ import annotations

import hashlib
from typing import Any

from django.db import transaction

from engagements.access import require_finance
from engagements.billing.bank_files import Statement, Unreadable, camt053, csv_file
from engagements.billing.payment_models import BankImport, BankLine
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.people.models import User

MAX_BYTES = 8 * 1024 * 1024
Format = BankImport.Format


@transaction.atomic
def take_in(*, filename: str, content: bytes, by: User) -> BankImport:
    """Keep a bank file and read it. The same bytes again are the same import.

    A CSV whose heading nobody has explained yet is kept unread, and one that cannot be read as
    its heading was explained: `choose_columns` reads it. Refused when it cannot be read at all,
    and then it is not kept.
    """
    require_finance(by)
    if len(content) > MAX_BYTES:
        raise ApplicationError(
            f"A bank file has at most {MAX_BYTES // 1024**2} MiB.", code="billing.todo"
        )
    digest = "sha256:" + hashlib.sha256(content).hexdigest()
    known = BankImport.objects.filter(digest=digest).first()
    if known:
        return known
    row = BankImport(filename=filename[:160], content=content, digest=digest, imported_by=by)
    try:
        statement = _first_reading(row, content)
    except Unreadable as unreadable:
        raise ApplicationError(str(unreadable), code="billing.todo") from unreadable
    try:
        validation.save_validated(row)
    except ApplicationError:
        # Somebody else may have handed the same file in meanwhile.
        known = BankImport.objects.filter(digest=digest).first()
        if known is None:
            raise
        return known
    if statement is not None:
        _store(row, statement)
    return row


@transaction.atomic
def choose_columns(*, bank_import: BankImport, layout: csv_file.Layout, by: User) -> BankImport:
    """Read a kept CSV by `layout`, which is remembered for every file with the same heading."""
    require_finance(by)
    row = BankImport.objects.select_for_update().get(pk=bank_import.pk)
    if row.repeated_count is not None:
        if row.layout != layout.as_data():
            raise ApplicationError("This file is read already.", code="billing.todo")
        return row
    try:
        statement = csv_file.read(bytes(row.content), layout)
    except Unreadable as unreadable:
        raise ApplicationError(str(unreadable), code="billing.todo") from unreadable
    row.layout = layout.as_data()
    _store(row, statement)
    return row


@transaction.atomic
def drop(*, bank_import: BankImport, by: User) -> None:
    """Throw a file away that was not read. Gone already, nothing happens."""
    require_finance(by)
    row = BankImport.objects.select_for_update().filter(pk=bank_import.pk).first()
    if row is None:
        return
    if row.repeated_count is not None:
        raise ApplicationError("This file is read: it stays.", code="billing.todo")
    row.delete()


def remembered_layout(heading: str) -> dict[str, Any] | None:
    """How the last file with this heading was read."""
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
    except Unreadable:
        # The bank writes otherwise now, or the last file was explained wrongly.
        return None
    row.layout = remembered
    return statement


def _store(row: BankImport, statement: Statement) -> None:
    """Write the entries that no file brought before, and how many were passed over."""
    BankLine.objects.bulk_create(
        (
            BankLine(
                bank_import=row,
                position=position,
                entry_key=entry.key,
                entry_reference=entry.reference,
                booked_on=entry.booked_on,
                amount=entry.amount,
                currency=entry.currency,
                payer=entry.payer[:160],
                payer_account=entry.payer_account[:40],
                text=entry.text,
            )
            for position, entry in enumerate(statement.entries, start=1)
        ),
        ignore_conflicts=True,
    )
    row.repeated_count = len(statement.entries) - row.lines.count()
    row.passed_over_count = statement.passed_over
    row.save(update_fields=["layout", "repeated_count", "passed_over_count"])
