"""Rows of a log in any format as frames of text, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import pyarrow as pa

from engagements.evidence.readers.errors import EvidenceError
from engagements.evidence.readers.opening import Opened
from engagements.evidence.readers.traffic import json_lines, parquet, separated


def frames(opened: Opened) -> Iterator[pd.DataFrame]:
    """Yield frames with the same columns. EvidenceError for an invalid row."""
    start = opened.head.lstrip(b"\xef\xbb\xbf \t\r\n")
    try:
        if opened.head.startswith(b"PAR1"):
            yield from parquet.frames(opened)
        elif start.startswith(b"{"):
            yield from json_lines.frames(opened)
        else:
            yield from separated.frames(opened)
    # pyarrow raises RuntimeError for an invalid Parquet footer.
    except (
        pa.ArrowException,
        OSError,
        RuntimeError,
        ValueError,
        ArithmeticError,
        MemoryError,
    ) as error:
        raise EvidenceError(
            f"The table cannot be read: {str(error)[:300]}", code="evidence.table_invalid"
        ) from error
