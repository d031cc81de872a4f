"""Parse the table in ncu's output, which may have warnings before, between and after rows."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator

from engagements.evidence.readers import limits
from engagements.evidence.readers.errors import EvidenceError
from engagements.evidence.readers.lines import lines_of
from engagements.evidence.readers.opening import Opened

# The first columns of both pages.
FIRST_COLUMNS = ("ID", "Process ID")
_MESSAGE = re.compile(r"==[A-Z]+==")
_UNKNOWN = frozenset({"", "no data", "n/a", "nan", "-nan", "inf", "-inf", "(!) n/a", "#n/a"})
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?([eE][+-]?\d+)?")
_PLAIN = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


class Table:
    """A header, its rows, and ncu's own messages before, between and after them.

    `messages` are complete once every row was read.
    """

    def __init__(self, opened: Opened) -> None:
        self.messages: list[str] = []
        self._rows = _rows(opened)
        self.header = self._find_header()

    def _find_header(self) -> list[str]:
        for _, row in self._rows:
            if tuple(row[:2]) == FIRST_COLUMNS:
                return [name.strip() for name in row]
            self._note(row)
        last = f": {self.messages[-1]}" if self.messages else ""
        raise EvidenceError(
            f'The file has no table header ("ID","Process ID", …){last}', code="evidence.no_table"
        )

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield each row of values with its first line number."""
        for count, (line, row) in enumerate(self._rows):
            if count > limits.TABLE_ROWS:
                raise EvidenceError(
                    f"The table has more than {limits.TABLE_ROWS:,} rows; profile fewer kernels",
                    code="evidence.recording_too_large",
                )
            if self._note(row) or not any(row):
                continue
            if tuple(row[:2]) == FIRST_COLUMNS:
                # Concatenated exports repeat the header.
                if [name.strip() for name in row] != self.header:
                    raise EvidenceError(
                        "A second table has different columns; upload each export by itself",
                        code="evidence.table_mixed",
                        where=f"line {line:,}",
                    )
                continue
            yield line, row

    def _note(self, row: list[str]) -> bool:
        """Store a message of ncu; return whether the row is one."""
        if not row or not _MESSAGE.match(row[0].lstrip()):
            return False
        if len(self.messages) < limits.WARNINGS:
            self.messages.append(" ".join(",".join(row).split())[:500])
        return True


def _rows(opened: Opened) -> Iterator[tuple[int, list[str]]]:
    """Yield rows with their first line number; an open quote ends with the text."""
    reader = csv.reader(line.decode("utf-8", "replace") for line in lines_of(opened))
    before = csv.field_size_limit()
    began = 1
    while True:
        # The limit is global in the csv module, so it is restored.
        csv.field_size_limit(limits.CELL_CHARACTERS)
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise EvidenceError(
                f"Invalid CSV: {error}", code="evidence.csv_invalid", where=f"line {began:,}"
            ) from error
        finally:
            csv.field_size_limit(before)
        if row is None:
            return
        yield began, row
        began = reader.line_num + 1


def number(value: str) -> float | None:
    """Parse a number with or without thousands separators; None for "no data" and nan.

    ncu prints as in "1,234.5"; a cell with several values ("1.2; 3.4") is not a number.
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
