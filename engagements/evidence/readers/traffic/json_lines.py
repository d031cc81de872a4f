"""Read JSON lines: one object per line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pandas as pd

from engagements.evidence.readers import limits
from engagements.evidence.readers.errors import EvidenceError
from engagements.evidence.readers.lines import lines_of
from engagements.evidence.readers.opening import Opened
from engagements.evidence.readers.traffic.cells import text

_decoder = msgspec.json.Decoder()


def frames(opened: Opened) -> Iterator[pd.DataFrame]:
    """Yield frames with the columns of the first line. EvidenceError for an invalid line."""
    rows: list[dict[str, str]] = []
    names: list[str] = []
    taken = 0
    for number, line in enumerate(lines_of(opened), start=1):
        if not line.strip():
            continue
        flat = _row(line, where=f"line {number:,}")
        names = names or list(flat)
        if not flat.keys() <= set(names):
            other = next(name for name in flat if name not in names)
            raise EvidenceError(
                f"The first line has no “{other[:80]}”; use the same keys in every line",
                code="evidence.key_mismatch",
                where=f"line {number:,}",
            )
        rows.append(flat)
        taken += len(line)
        if len(rows) == limits.TRAFFIC_BATCH_ROWS or taken > limits.TRAFFIC_BATCH_BYTES:
            yield pd.DataFrame(rows, columns=names).fillna("")
            rows, taken = [], 0
    if rows:
        yield pd.DataFrame(rows, columns=names).fillna("")


def _row(line: bytes, *, where: str) -> dict[str, str]:
    try:
        row = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise EvidenceError(
            f"Invalid JSON: {error}", code="evidence.json_invalid", where=where
        ) from error
    if not isinstance(row, dict):
        raise EvidenceError(
            "The line is not a JSON object", code="evidence.json_invalid", where=where
        )
    flat = _flat(row)
    if len(flat) > limits.TRAFFIC_COLUMNS:
        raise EvidenceError(
            f"The line has {len(flat):,} keys; the limit is {limits.TRAFFIC_COLUMNS}",
            code="evidence.too_many_columns",
            where=where,
        )
    for name, value in flat.items():
        if _holds_objects(value):
            raise EvidenceError(
                f"“{name[:80]}” contains objects; write one call per line, with plain values",
                code="evidence.nested_objects",
                where=where,
            )
    return {name: text(value) for name, value in flat.items()}


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Flatten one level of objects: {"shape": {"m": 1}} becomes "shape.m"."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat.update({f"{name}.{key}": inner for key, inner in value.items()})
        else:
            flat[name] = value
    return flat


def _holds_objects(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list) and any(isinstance(each, dict) for each in value)
    )
