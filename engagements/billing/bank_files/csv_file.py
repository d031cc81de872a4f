"""CSV as banks export it: which column means what is chosen once and remembered by its heading."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from engagements.billing.bank_files.entries import Entry, Statement, Unreadable, kept_exactly, keyed

DELIMITERS = (";", ",", "\t", "|")
MAX_ROWS = 20_000
SAMPLE_ROWS = 5
DATE_FORMATS = ("%d.%m.%Y", "%d.%m.%y", "%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%Y%m%d")
# Grouped by three or not at all: 250.00 is no 25.000 where a comma marks the decimals.
AMOUNTS = {
    ",": re.compile(r"[+-]?(?:[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+)(?:,[0-9]+)?"),
    ".": re.compile(r"[+-]?(?:[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.[0-9]+)?"),
}


@dataclass(frozen=True)
class Layout:
    """Which column (by its place, from 0) means what, and how days and amounts are written.

    `decimal_mark` is "," or "."; `currency` counts where there is no column for it.
    """

    booked_on: int
    amount: int
    text: int
    payer: int | None
    payer_account: int | None
    reference: int | None
    currency_column: int | None
    currency: str
    date_format: str
    decimal_mark: str

    def as_data(self) -> dict[str, Any]:
        """As it is remembered."""
        return asdict(self)


@dataclass(frozen=True)
class Table:
    """A file before anybody said what its columns mean."""

    head: list[str]
    rows: list[list[str]]

    @property
    def heading(self) -> str:
        """The digest by which a layout is remembered."""
        return "sha256:" + hashlib.sha256("\x1f".join(self.head).encode()).hexdigest()

    @property
    def sample(self) -> list[list[str]]:
        """Its first rows."""
        return self.rows[:SAMPLE_ROWS]


def open_table(content: bytes) -> Table:
    """The heading and the rows below it; what banks write above the heading is left out."""
    text = _decoded(content)
    rows = _split(text)
    widths = Counter(len(row) for row in rows if len(row) > 2)
    if not widths:
        raise Unreadable("This is no table: no row has three columns or more.")
    width = widths.most_common(1)[0][0]
    start = next(at for at, row in enumerate(rows) if len(row) == width)
    below = [row for row in rows[start + 1 :] if len(row) == width]
    if len(below) > MAX_ROWS:
        raise Unreadable(f"This file has {len(below)} rows; {MAX_ROWS} are read at once.")
    return Table(head=[cell.strip() for cell in rows[start]], rows=below)


def read(content: bytes, layout: Layout) -> Statement:
    """The entries by which money came in. Unreadable names the row that does not fit."""
    entries: list[Entry] = []
    passed_over = 0
    for number, row in enumerate(open_table(content).rows, start=1):
        try:
            amount = _amount(row[layout.amount], layout.decimal_mark)
            if amount is None or amount <= 0:
                passed_over += 1
                continue
            entries.append(_entry(row, amount, layout))
        except (ValueError, InvalidOperation) as error:
            raise Unreadable(f"Row {number} below the heading: {error}") from error
        except IndexError as error:
            raise Unreadable("The columns chosen are not those of this file.") from error
    return Statement(keyed(entries, account="csv"), passed_over)


def _entry(row: Sequence[str], amount: Decimal, layout: Layout) -> Entry:
    def cell(place: int | None) -> str:
        return "" if place is None else " ".join(row[place].split())

    currency = cell(layout.currency_column).upper() or layout.currency
    if not re.fullmatch(r"[A-Z]{3}", currency):
        raise ValueError(f"{currency!r} is no currency.")
    return Entry(
        booked_on=_day(cell(layout.booked_on), layout.date_format),
        amount=kept_exactly(amount, currency),
        currency=currency,
        payer=cell(layout.payer),
        payer_account=cell(layout.payer_account).replace(" ", ""),
        text=cell(layout.text),
        reference=cell(layout.reference),
    )


def _day(text: str, date_format: str) -> date:
    if date_format not in DATE_FORMATS:
        raise ValueError(f"{date_format!r} is no way to write a day.")
    try:
        return datetime.strptime(text, date_format).date()
    except ValueError:
        raise ValueError(f"{text!r} is no day as chosen.") from None


def _amount(text: str, decimal_mark: str) -> Decimal | None:
    """An amount with its sign; None for an empty cell."""
    plain = re.sub(r"[\s\u00a0\u202f']", "", text)
    if not plain:
        return None
    if not AMOUNTS[decimal_mark].fullmatch(plain):
        raise ValueError(f"{text!r} is no amount as chosen.")
    grouping = "." if decimal_mark == "," else ","
    return Decimal(plain.replace(grouping, "").replace(decimal_mark, "."))


def _decoded(content: bytes) -> str:
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\x00" in text:
            break
        return text
    raise Unreadable("This is no text file.")


def _split(text: str) -> list[list[str]]:
    """The rows by the delimiter that gives most of them the same number of columns."""

    def rows(delimiter: str) -> list[list[str]]:
        try:
            return [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if any(row)]
        except csv.Error as error:
            raise Unreadable(f"This table cannot be read: {error}") from error

    def fit(found: list[list[str]]) -> tuple[int, int]:
        widths = Counter(len(row) for row in found if len(row) > 1)
        return (widths.most_common(1)[0][1], max(widths)) if widths else (0, 0)

    return max((rows(delimiter) for delimiter in DELIMITERS), key=fit)
