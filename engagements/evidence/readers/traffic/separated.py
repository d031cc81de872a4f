"""Read CSV with any separator."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

import pandas as pd
import pyarrow as pa
import pyarrow.csv

from engagements.evidence.readers import limits
from engagements.evidence.readers.errors import EvidenceError
from engagements.evidence.readers.opening import HEAD_BYTES, Opened
from engagements.evidence.readers.traffic.columns import meaning_of

_DELIMITERS = ",;\t|"
_MARK = b"\xef\xbb\xbf"
# The line of spreadsheets above the header that names the separator.
_SAYS_DELIMITER = re.compile(r"sep=(.)")
_OTHER_WIDTH = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_GROUPED = r"^\s*([+-]?\d{1,3}(?:,\d{3})+)(\.\d+)?\s*$"
_DECIMAL_COMMA = r"^\s*([+-]?\d+),(\d+)\s*$"


@dataclass(frozen=True)
class _Header:
    """The header; `line` counts from 1."""

    names: list[str]
    delimiter: str
    line: int


def frames(opened: Opened) -> Iterator[pd.DataFrame]:
    """Yield frames of text. EvidenceError for a row of another length than the header."""
    header = _header(opened)
    meaning = meaning_of(header.names)
    numbers = [name for name in (meaning.count, meaning.duration) if name is not None]
    try:
        for batch in _batches(opened, header):
            frame = batch.to_pandas()
            for name in numbers:
                frame[name] = _plain(frame[name], header.delimiter)
            yield frame
    except pa.ArrowInvalid as error:
        if other := _OTHER_WIDTH.search(str(error)):
            line, expected, found = map(int, other.groups())
            raise EvidenceError(
                f"The row has {found:,} values, the header {expected:,} names",
                code="evidence.row_length",
                where=f"line {line + header.line:,}",
            ) from error
        raise


def _batches(opened: Opened, header: _Header) -> Iterator[pa.RecordBatch]:
    stream = _Stream(opened)
    # pyarrow rejects a file without rows.
    if not stream.has_more():
        return
    yield from pa.csv.open_csv(
        cast(BinaryIO, stream),
        read_options=pa.csv.ReadOptions(
            block_size=4 * limits.MIB, use_threads=False, column_names=header.names
        ),
        parse_options=pa.csv.ParseOptions(delimiter=header.delimiter),
        convert_options=pa.csv.ConvertOptions(
            column_types=dict.fromkeys(header.names, pa.string()), strings_can_be_null=False
        ),
    )


def _header(opened: Opened) -> _Header:
    """Read up to the end of the header."""
    delimiter = ""
    for number, line in enumerate(_first_lines(opened), start=1):
        if said := _SAYS_DELIMITER.fullmatch(line):
            delimiter = said[1]
        elif line.strip():
            return _named(line, delimiter or max(_DELIMITERS, key=line.count), number)
    raise EvidenceError("The table has no header with column names", code="evidence.no_columns")


def _named(line: str, delimiter: str, number: int) -> _Header:
    if "\r" in line:
        raise EvidenceError(
            "Lines end in CR only; save the table with LF or CRLF",
            code="evidence.line_endings",
            where="line 1",
        )
    try:
        names = next(csv.reader(io.StringIO(line), delimiter=delimiter), [])
    except csv.Error as error:
        raise EvidenceError(
            f"Invalid CSV: {error}", code="evidence.csv_invalid", where=f"line {number}"
        ) from error
    if len(names) > limits.TRAFFIC_COLUMNS:
        raise EvidenceError(
            f"The table has {len(names):,} columns; the limit is {limits.TRAFFIC_COLUMNS}",
            code="evidence.too_many_columns",
            where=f"line {number}",
        )
    if all(_is_number(name) for name in names):
        raise EvidenceError(
            "The first line has no column names; add a header",
            code="evidence.no_columns",
            where=f"line {number}",
        )
    return _Header(names, delimiter, number)


def _first_lines(opened: Opened) -> Iterator[str]:
    """Yield the first lines, without reading ahead."""
    head = opened.head
    start = len(_MARK) if head.startswith(_MARK) else 0
    opened.read(start)
    while start < len(head):
        end = head.find(b"\n", start) + 1 or len(head)
        yield opened.read(end - start).decode("utf-8", "replace").rstrip("\r\n")
        start = end


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text.strip()
    return True


def _plain(texts: pd.Series[str], delimiter: str) -> pd.Series[str]:
    """Remove commas from numbers: thousands separators in comma-separated text, else decimals.

    With another separator, commas may be decimal, so “1,234” between semicolons is 1.234.
    """
    if not texts.str.contains(",", regex=False).any():
        return texts
    if delimiter != ";":
        grouped = texts.str.replace(",", "", regex=False)
        texts = texts.where(~texts.str.match(_GROUPED), grouped)
    return texts.str.replace(_DECIMAL_COMMA, r"\1.\2", regex=True)


class _Stream(io.RawIOBase):
    """An opened file as a stream for pyarrow."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._first = opened.read(HEAD_BYTES)

    def has_more(self) -> bool:
        """Return whether more than white space follows."""
        return bool(self._first.strip())

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._first:
            first, self._first = self._first, b""
            return first
        return self._opened.read(limits.BLOCK_BYTES if size < 0 else size)
