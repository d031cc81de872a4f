"""Read Parquet, with structures flattened as in JSON."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from engagements.evidence.readers import limits
from engagements.evidence.readers.errors import EvidenceError
from engagements.evidence.readers.opening import Opened
from engagements.evidence.readers.traffic.cells import text


def frames(opened: Opened) -> Iterator[pd.DataFrame]:
    """Yield frames of text. EvidenceError when the file exceeds a limit."""
    with opened.on_disk() as path, pa.parquet.ParquetFile(path) as file:
        _check_size(file.metadata)
        for batch in file.iter_batches(limits.TRAFFIC_BATCH_ROWS, use_threads=False):
            table = _flat(pa.Table.from_batches([batch]))
            columns = [[text(cell) for cell in column.to_pylist()] for column in table.columns]
            frame = pd.DataFrame(dict(enumerate(columns)))
            frame.columns = pd.Index(table.column_names)
            yield frame


def _check_size(metadata: pa.parquet.FileMetaData) -> None:
    if metadata.num_rows > limits.TRAFFIC_ROWS:
        raise EvidenceError(
            f"The log has more than {limits.TRAFFIC_ROWS:,} rows; upload a histogram instead, one "
            "row per shape with its count",
            code="evidence.too_many_rows",
        )
    if metadata.num_columns > limits.TRAFFIC_COLUMNS:
        raise EvidenceError(
            f"The table has {metadata.num_columns:,} columns; the limit is "
            f"{limits.TRAFFIC_COLUMNS}",
            code="evidence.too_many_columns",
        )
    for number in range(metadata.num_row_groups):
        # Column metadata is not read here: on an invalid one pyarrow aborts the process.
        size = metadata.row_group(number).total_byte_size
        if size > limits.PARQUET_GROUP_BYTES:
            raise EvidenceError(
                f"A row group has {size:,} bytes; write smaller row groups",
                code="evidence.row_group_too_large",
                where=f"row group {number}",
            )


def _flat(table: pa.Table) -> pa.Table:
    """Flatten one level of structures; add the unit to the name of duration columns."""
    table = table.flatten()
    for place, field in enumerate(table.schema):
        if pa.types.is_duration(field.type):
            unit = field.type.unit
            named = field.name if field.name.endswith(f"_{unit}") else f"{field.name}_{unit}"
            table = table.set_column(place, named, table.column(place).cast(pa.int64()))
    return table
