"""The table inside what ncu printed: warnings may stand before it, in it and after it."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from engagements.evidence import limits
from engagements.evidence.errors import EvidenceError

# The columns that both pages begin with.
FIRST_COLUMNS = ("ID", "Process ID")
_MESSAGE = re.compile(r"==[A-Z]+==")
_UNKNOWN = frozenset({"", "no data", "n/a", "nan", "-nan", "inf", "-inf", "(!) n/a", "#n/a"})
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?([eE][+-]?\d+)?")
_PLAIN = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Table:
    """A header, its rows with the line each began on, and ncu's own messages around them."""

    header: list[str]
    rows: list[tuple[int, list[str]]]
    messages: list[str]


def table_of(text: str) -> Table:
    """The table. EvidenceError when there is none, or a field is larger than any metric's."""
    messages: list[str] = []
    header: list[str] = []
    rows: list[tuple[int, list[str]]] = []
    for number, row in _rows(text):
        if _is_message(row):
            messages.append(_said(row))
        elif not header:
            if tuple(row[:2]) == FIRST_COLUMNS:
                header = [name.strip() for name in row]
        elif row == header or tuple(row[:2]) == FIRST_COLUMNS:
            # Exports that were put one after the other repeat the header.
            if row != header:
                raise EvidenceError("A second table has other columns", where=f"line {number:,}")
        elif any(row):
            rows.append((number, row))
            if len(rows) > limits.TABLE_ROWS:
                raise EvidenceError(f"The table has more than {limits.TABLE_ROWS:,} rows")
    if not header:
        raise EvidenceError('No line begins the table ("ID","Process ID", …)')
    return Table(header, rows, messages[: limits.WARNINGS])


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Rows with the line that each began on; an open quote ends where the text ends."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=False)
    before = csv.field_size_limit()
    began = 1
    while True:
        # The limit belongs to the module, not to the reader; nobody else should inherit it.
        csv.field_size_limit(limits.CELL_CHARACTERS)
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise EvidenceError(f"Broken CSV: {error}", where=f"line {began:,}") from error
        finally:
            csv.field_size_limit(before)
        yield began, row
        began = reader.line_num + 1


def _is_message(row: list[str]) -> bool:
    return bool(row) and _MESSAGE.match(row[0].lstrip()) is not None


def _said(row: list[str]) -> str:
    return " ".join(",".join(row).split())[:500]


def number(value: str) -> float | None:
    """The number in a cell, with or without thousands separators; None for "no data" and nan.

    ncu prints in the locale "1,234.5"; several values of one cell ("1.2; 3.4") have no number.
    """
    cleaned = value.strip()
    if cleaned.lower() in _UNKNOWN or len(cleaned) > 64:
        return None
    if not _PLAIN.fullmatch(cleaned):
        if not _GROUPED.fullmatch(cleaned):
            return None
        cleaned = cleaned.replace(",", "")
    found = float(cleaned)
    return found if math.isfinite(found) else None
