"""Prove that the data is complete and unaltered: events, ledger, documents, stored files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, cast

from django.apps import apps
from django.core.files.storage import Storage, storages
from django.db import connection, models, transaction

from benchmarks.models import Record, Repetition
from benchmarks.records import records
from engagements.documents.models import Document
from engagements.event_log import verify as event_log
from engagements.event_log.models import EventAnchor
from engagements.ledger import queries as ledger


@dataclass(frozen=True)
class StoredFile:
    """A file that a row names, and the digest that the row has: of a record's canonical content,
    else of the bytes."""

    row: str
    name: str
    digest: str
    is_record: bool

    @property
    def size_bytes(self) -> int:
        """Its size. Raises OSError."""
        return int(_storage().size(self.name))

    def open(self) -> IO[bytes]:
        """Open it for reading. Raises OSError."""
        return cast("IO[bytes]", _storage().open(self.name, "rb"))

    def fault(self) -> str | None:
        """The fault of the file, or None."""
        try:
            found = (
                records.digest_of(records.load(self._read())) if self.is_record else self._hash()
            )
        except (OSError, ValueError) as error:
            return f"{self.row}: {self.name} cannot be read: {error}"
        if found != self.digest:
            return f"{self.row}: the digest of {self.name} differs"
        return None

    def _read(self) -> bytes:
        with self.open() as opened:
            return bytes(opened.read())

    def _hash(self) -> str:
        with self.open() as opened:
            return f"sha256:{hashlib.file_digest(opened, 'sha256').hexdigest()}"  # type: ignore[arg-type]


@dataclass
class Part:
    """One part of the data: the number of checked items, and the faults."""

    name: str
    count: int = 0
    faults: list[str] = field(default_factory=list)


def _storage() -> Storage:
    return storages["records"]


def check() -> list[Part]:
    """Check every part in one snapshot of the database. Reads every document and file."""
    with transaction.atomic():
        begin_snapshot()
        return [_events(), _ledger(), _documents(), _files()]


def begin_snapshot() -> None:
    """Let all queries of the transaction that just began see one state, and write nothing."""
    if len(connection.savepoint_ids) == 0:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


def stored_files() -> Iterator[StoredFile]:
    """Every file that a row of any model names, each name once."""
    seen: set[str] = set()
    for model in apps.get_models():
        for column in model._meta.concrete_fields:
            if not isinstance(column, models.FileField):
                continue
            rows = model._base_manager.exclude(**{column.name: ""}).order_by("pk")
            is_record = issubclass(model, Record | Repetition)
            for pk, name, digest in rows.values_list("pk", column.name, "digest").iterator():
                if name not in seen:
                    seen.add(name)
                    row = f"{model._meta.verbose_name} {pk}"
                    yield StoredFile(row, name, digest, is_record)


def last_anchor() -> str | None:
    """The digest of the event log's newest anchor."""
    return EventAnchor.objects.order_by("-number").values_list("digest", flat=True).first()


def _events() -> Part:
    report = event_log.verify()
    return Part("events", report.events, [str(found) for found in report.breaks])


def _ledger() -> Part:
    balance = ledger.trial_balance()
    part = Part("ledger totals", len(balance))
    for engagement, account, currency, month in ledger.wrong_totals():
        part.faults.append(
            f"engagement {engagement}, account {account}, {currency}, {month:%Y-%m}: "
            "the stored total differs from the sum of its legs"
        )
    for currency, debit, credit in ledger.totals_by_currency(balance):
        if debit != credit:
            part.faults.append(f"{currency}: debits {debit} and credits {credit} differ")
    return part


def _documents() -> Part:
    part = Part("documents")
    for document in Document.objects.order_by("pk").iterator(chunk_size=20):
        part.count += 1
        content = bytes(document.content)
        if f"sha256:{hashlib.sha256(content).hexdigest()}" != document.digest:
            part.faults.append(f"document {document.pk}, {document.filename}: digest differs")
        elif len(content) != document.size_bytes:
            part.faults.append(f"document {document.pk}, {document.filename}: size differs")
    return part


def _files() -> Part:
    part = Part("files")
    for stored in stored_files():
        part.count += 1
        if fault := stored.fault():
            part.faults.append(fault)
    return part
