"""The rows of a log as frames of text, batch by batch, whatever the file's format."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from engagements.evidence import limits
from engagements.evidence.errors import EvidenceError
from engagements.evidence.lines import lines_of
from engagements.evidence.opening import Opened

_DELIMITERS = ",;\t|"
_decoder = msgspec.json.Decoder()


def frames(opened: Opened) -> Iterator[pd.DataFrame]:
    """Frames with the same columns throughout. EvidenceError where a row is broken."""
    start = opened.head.lstrip(b"\xef\xbb\xbf \t\r\n")
    try:
        if opened.head.startswith(b"PAR1"):
            yield from _parquet(opened)
        elif start.startswith(b"{"):
            yield from _json_lines(opened)
        else:
            yield from _csv(opened)
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise EvidenceError(f"The table cannot be read: {str(error)[:300]}") from error


def _csv(opened: Opened) -> Iterator[pd.DataFrame]:
    first_line = opened.head.decode("utf-8-sig", "replace").split("\n", 1)[0].rstrip("\r")
    delimiter = max(_DELIMITERS, key=first_line.count)
    try:
        names = next(csv.reader(io.StringIO(first_line), delimiter=delimiter), [])
    except csv.Error as error:
        raise EvidenceError(f"Broken CSV: {error}", where="line 1") from error
    if len(names) > limits.TRAFFIC_COLUMNS:
        raise EvidenceError(f"There are {len(names):,} columns", where="line 1")
    if all(_is_number(name) for name in names):
        raise EvidenceError("The first line must name the columns", where="line 1")
    reader = pa.csv.open_csv(
        cast(BinaryIO, _Stream(opened)),
        read_options=pa.csv.ReadOptions(
            block_size=4 * limits.MIB, use_threads=False, column_names=names, skip_rows=1
        ),
        parse_options=pa.csv.ParseOptions(delimiter=delimiter),
        convert_options=pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    )
    for batch in reader:
        yield batch.to_pandas()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text.strip()
    return True


class _Stream(io.RawIOBase):
    """What was opened, as the kind of file that pyarrow reads from."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._opened.read(limits.BLOCK_BYTES if size < 0 else size)


def _parquet(opened: Opened) -> Iterator[pd.DataFrame]:
    with opened.on_disk() as path, pa.parquet.ParquetFile(path) as file:
        metadata = file.metadata
        if metadata.num_rows > limits.TRAFFIC_ROWS:
            raise EvidenceError(_too_many())
        if metadata.num_columns > limits.TRAFFIC_COLUMNS:
            raise EvidenceError(f"There are {metadata.num_columns:,} columns")
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            for column in range(group.num_columns):
                size = group.column(column).total_uncompressed_size
                if size > limits.PARQUET_COLUMN_BYTES:
                    raise EvidenceError(
                        f"A column takes {size:,} bytes", where=f"row group {number}"
                    )
        for batch in file.iter_batches(limits.TRAFFIC_BATCH_ROWS, use_threads=False):
            frame = batch.to_pandas()
            yield frame.map(_text) if len(frame) else frame


def _json_lines(opened: Opened) -> Iterator[pd.DataFrame]:
    rows: list[dict[str, str]] = []
    names: list[str] = []
    taken = 0
    for number, line in enumerate(lines_of(opened), start=1):
        if not line.strip():
            continue
        try:
            row = _decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise EvidenceError(f"Broken JSON: {error}", where=f"line {number:,}") from error
        if not isinstance(row, dict):
            raise EvidenceError("This line is no JSON object", where=f"line {number:,}")
        flat = _flat(row)
        if len(flat) > limits.TRAFFIC_COLUMNS:
            raise EvidenceError(f"There are {len(flat):,} columns", where=f"line {number:,}")
        names = names or list(flat)
        if not flat.keys() <= set(names):
            other = next(name for name in flat if name not in names)
            raise EvidenceError(f"The first line lacks “{other[:80]}”", where=f"line {number:,}")
        rows.append(flat)
        taken += len(line)
        if len(rows) == limits.TRAFFIC_BATCH_ROWS or taken > limits.TRAFFIC_BATCH_BYTES:
            yield pd.DataFrame(rows, columns=names).fillna("")
            rows, taken = [], 0
    if rows:
        yield pd.DataFrame(rows, columns=names).fillna("")


def _flat(row: dict[str, Any]) -> dict[str, str]:
    """One level of objects becomes columns: {"shape": {"m": 1}} is "shape.m"."""
    flat: dict[str, str] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat.update({f"{name}.{key}": _text(inner) for key, inner in value.items()})
        else:
            flat[name] = _text(value)
    return flat


def _text(value: Any) -> str:
    """A value as text; a whole number always as a whole number, nothing as nothing."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)[:500]


def _too_many() -> str:
    return (
        f"The log has more than {limits.TRAFFIC_ROWS:,} rows: send a histogram, "
        "one row a shape with its count"
    )
