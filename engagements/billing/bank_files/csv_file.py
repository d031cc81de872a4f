"""Parse a bank's CSV export with a column layout that is remembered by its heading."""

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

from engagements.billing.bank_files.statement import (
    AccountStatement,
    BankFile,
    StatementLine,
    UnreadableFile,
    exact_amount,
    plausible_day,
    with_keys,
)

DELIMITERS = (";", ",", "\t", "|")
MAX_ROWS = 20_000
SAMPLE_ROWS = 5
DATE_FORMATS = ("%d.%m.%Y", "%d.%m.%y", "%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%Y%m%d")
# How German banks print the end-to-end id in the text of a line.
END_TO_END = re.compile(r"\bEREF[+:]\s*([A-Za-z0-9/?:().,'+-]{1,35})")
# Grouped by three or not at all, so that 250.00 is not read as 25,000 with a decimal comma.
AMOUNTS = {
    ",": re.compile(r"[+-]?(?:[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+)(?:,[0-9]+)?"),
    ".": re.compile(r"[+-]?(?:[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.[0-9]+)?"),
}


@dataclass(frozen=True)
class Layout:
    """The column index of each field, and the formats of dates and amounts.

    `decimal_mark` is "," or "."; `currency` applies if no column has it. `account` is the IBAN of
    our own account.
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
    account: str = ""

    def as_data(self) -> dict[str, Any]:
        """The layout as JSON data."""
        return asdict(self)


@dataclass(frozen=True)
class Table:
    """The heading and rows of a file."""

    head: list[str]
    rows: list[list[str]]

    @property
    def heading(self) -> str:
        """The digest of the heading, which identifies its layout."""
        return "sha256:" + hashlib.sha256("\x1f".join(self.head).encode()).hexdigest()

    @property
    def sample(self) -> list[list[str]]:
        """The first rows."""
        return self.rows[:SAMPLE_ROWS]


def open_table(content: bytes) -> Table:
    """Find the heading and the rows below it, skipping any preamble."""
    text = _decoded(content)
    rows = _split(text)
    widths = Counter(len(row) for row in rows if len(row) > 2)
    if not widths:
        raise UnreadableFile("The file has no table: no row has three columns.")
    width = widths.most_common(1)[0][0]
    start = next(at for at, row in enumerate(rows) if len(row) == width)
    below = [row for row in rows[start + 1 :] if len(row) == width]
    if len(below) > MAX_ROWS:
        raise UnreadableFile(f"The file has {len(below)} rows; the limit is {MAX_ROWS}.")
    return Table(head=[cell.strip() for cell in rows[start]], rows=below)


def read(content: bytes, layout: Layout) -> BankFile:
    """Parse the rows, one statement for each currency; an error names the row."""
    lines: list[StatementLine] = []
    skipped = 0
    for number, row in enumerate(open_table(content).rows, start=1):
        try:
            amount = _amount(row[layout.amount], layout.decimal_mark)
            if not amount:
                skipped += 1
                continue
            lines.append(_entry(row, amount, layout))
        except (ValueError, InvalidOperation) as error:
            raise UnreadableFile(f"Row {number} below the heading: {error}") from error
        except IndexError as error:
            raise UnreadableFile("The file has fewer columns than chosen.") from error
    keyed = with_keys(lines, account="csv")
    return BankFile(
        statements=tuple(
            AccountStatement(
                account=layout.account,
                currency=currency,
                lines=tuple(line for line in keyed if line.currency == currency),
            )
            for currency in dict.fromkeys(line.currency for line in keyed)
        ),
        skipped=skipped,
    )


def _entry(row: Sequence[str], amount: Decimal, layout: Layout) -> StatementLine:
    def cell(place: int | None) -> str:
        return "" if place is None else " ".join(row[place].split())

    currency = cell(layout.currency_column).upper() or layout.currency
    if not re.fullmatch(r"[A-Z]{3}", currency):
        raise ValueError(f"{currency!r} is not a currency code.")
    day = _day(cell(layout.booked_on), layout.date_format)
    return StatementLine(
        booked_on=day,
        valued_on=day,
        amount=exact_amount(amount, currency),
        currency=currency,
        payer=cell(layout.payer),
        payer_account=cell(layout.payer_account).replace(" ", ""),
        text=cell(layout.text),
        reference=cell(layout.reference),
        end_to_end_id=named[1] if (named := END_TO_END.search(cell(layout.text))) else "",
    )


def _day(text: str, date_format: str) -> date:
    if date_format not in DATE_FORMATS:
        raise ValueError(f"Unknown date format {date_format!r}.")
    try:
        return plausible_day(datetime.strptime(text, date_format).date())
    except ValueError:
        raise ValueError(f"{text!r} is not a date in the chosen format.") from None


def _amount(text: str, decimal_mark: str) -> Decimal | None:
    """Parse a signed amount; None for an empty cell."""
    plain = re.sub(r"[\s\u00a0\u202f']", "", text)
    if not plain:
        return None
    if not AMOUNTS[decimal_mark].fullmatch(plain):
        raise ValueError(f"{text!r} is not an amount in the chosen format.")
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
    raise UnreadableFile("This is not a text file.")


def _split(text: str) -> list[list[str]]:
    """Split by the delimiter that gives the most rows of equal width."""

    def rows(delimiter: str) -> list[list[str]]:
        try:
            return [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if any(row)]
        except csv.Error as error:
            raise UnreadableFile(f"Invalid CSV: {error}") from error

    def fit(found: list[list[str]]) -> tuple[int, int]:
        widths = Counter(len(row) for row in found if len(row) > 1)
        return (widths.most_common(1)[0][1], max(widths)) if widths else (0, 0)

    return max((rows(delimiter) for delimiter in DELIMITERS), key=fit)
