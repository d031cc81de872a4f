"""What is fuzzed: the files that each target begins from, and what its bytes stand for."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import atheris
import pyarrow as pa
import pyarrow.parquet

from tests.engagements.evidence.reader_contract import sample
from tests.engagements.evidence.test_nsight_systems import tables

# atheris picks out of lists only.
_NUMBERS: Final = [0, 1, -1, 2**31, 2**53, 2**63 - 1, -(2**63)]


@dataclass(frozen=True)
class Target:
    """One parser: its good files, by their names in `surviving.SAMPLES`, and words it knows.

    `file_of` makes a file of the fuzzer's bytes, where those that are one get nowhere.
    """

    samples: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    file_of: Callable[[bytes], bytes] = bytes

    def seeds(self) -> list[bytes]:
        """The files to begin from."""
        return [sample(name) for name in self.samples]


def _cell(data: atheris.FuzzedDataProvider) -> Any:
    match data.ConsumeIntInRange(0, 6):
        case 0:
            return None
        case 1:
            return data.ConsumeIntInRange(-(2**63), 2**63 - 1)
        case 2:
            return data.PickValueInList(_NUMBERS)
        case 3:
            return data.ConsumeFloat()
        case 4:
            return data.ConsumeBytes(12)
        case 5:
            return data.ConsumeIntInRange(0, 100)
        case _:
            return data.ConsumeUnicodeNoSurrogates(12)


def _export(content: bytes) -> bytes:
    """An export of Nsight Systems in which the bytes choose tables, columns and cells."""
    data = atheris.FuzzedDataProvider(content)
    connection = sqlite3.connect(":memory:")
    try:
        # A database without a table has no bytes.
        connection.execute("CREATE TABLE other (value)")
        for name, (columns, good) in tables().items():
            names = [each.split()[0] for each in columns.split(", ")]
            kept = [each for each in names if data.ConsumeIntInRange(0, 9)]
            if not kept or not data.ConsumeIntInRange(0, 9):
                continue
            # "end" is a word of SQL.
            quoted = ", ".join(f'"{each}"' for each in kept)
            connection.execute(f"CREATE TABLE {name} ({quoted})")
            rows = [row[: len(kept)] for row in good if len(kept) == len(row)]
            rows += [tuple(_cell(data) for _ in kept) for _ in range(data.ConsumeIntInRange(0, 4))]
            if rows:
                marks = ", ".join("?" * len(kept))
                connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        connection.commit()
        return connection.serialize()
    finally:
        connection.close()


_COLUMNS: Final = ["m", "n", "shape", "count", "duration_us", "total_ms", "timestamp", "model"]
_TYPES: Final = [
    pa.int64(), pa.float64(), pa.string(), pa.binary(), pa.bool_(), pa.timestamp("ns"),
    pa.list_(pa.int64()), pa.struct([("m", pa.int64())]), pa.decimal128(38, 3), pa.duration("us"),
    pa.dictionary(pa.int8(), pa.string()), pa.date32(), pa.time64("ns"), pa.null(), pa.uint64(),
    pa.map_(pa.string(), pa.int64()), pa.timestamp("s", tz="UTC"), pa.float16(),
]  # fmt: skip


def _parquet(content: bytes) -> bytes:
    """A Parquet file in which the bytes choose columns, types and cells."""
    data = atheris.FuzzedDataProvider(content)
    rows, columns = data.ConsumeIntInRange(0, 5), {}
    for _ in range(data.ConsumeIntInRange(1, 5)):
        name = data.PickValueInList(_COLUMNS)
        kind = data.PickValueInList(_TYPES)
        columns[name] = _column(kind, [_cell(data) for _ in range(rows)])
    out = io.BytesIO()
    try:
        pa.parquet.write_table(pa.table(columns), out)
    except pa.ArrowException:
        # Parquet has fewer times than Arrow.
        return b""
    return out.getvalue()


def _column(kind: pa.DataType, cells: list[Any]) -> pa.Array:
    """The cells as a column of this type, or of their text where they are none of it."""
    if pa.types.is_list(kind):
        cells = [None if cell is None else [cell] for cell in cells]
    elif pa.types.is_struct(kind):
        cells = [None if cell is None else {"m": cell} for cell in cells]
    elif pa.types.is_map(kind):
        cells = [None if cell is None else [(str(cell), 1)] for cell in cells]
    try:
        return pa.array(cells, type=kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([None if cell is None else ascii(cell) for cell in cells])


_TRACE_WORDS: Final = (
    '"traceEvents":[', '"ph":"X"', '"ph":"B"', '"ph":"E"', '"cat":"kernel"', '"cat":"gpu_memcpy"',
    '"cat":"cuda_runtime"', '"cat":"user_annotation"', '"cat":"python_function"', '"name":"',
    "ProfilerStep#1", "cudaLaunchKernel", "cudaGraphLaunch", "cudaDeviceSynchronize", "NaN",
    '"ts":', '"dur":', '"args":{', '"correlation":', '"device":', '"stream":', "Infinity", "1e999",
    '"deviceProperties":[', '"schemaVersion":', '"distributedInfo":{', '"displayTimeUnit":',
    "nn.Module: A_1", "},{", "]}", "null", "true", "-1",
)  # fmt: skip
_COMPUTE_WORDS: Final = (
    '"ID","Process ID",', "==PROF== ", "==WARNING== ", "==ERROR== ", '"nsecond"', '"usecond"',
    '"%"', '"no data"', '"n/a"', "nan", '"1,234.5"', '"Metric Name"', '"Metric Value"', "inf",
    '"Metric Unit"', '"Kernel Name"', '"Section Name"', "gpu__time_duration.sum", '""', "\n",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed", "Duration", "DRAM Throughput",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed", "Achieved Occupancy", "byte/second",
)  # fmt: skip
_TRAFFIC_WORDS: Final = (
    "batch,", "count", "calls", "duration_us", "total_ms", "timestamp", "model", "request_id",
    "2026-01-01T00:00:00Z", "nan", "inf", "1e308", "-1", '"', ";", "\t", "|", "\n", "\r\n",
    '{"m":', '"shape":{"m":', "}\n{", "null", "true", "[1]", "\xef\xbb\xbf",
)  # fmt: skip

TARGETS: Final[dict[str, Target]] = {
    "trace": Target(("trace",), _TRACE_WORDS),
    "nsight-systems": Target(file_of=_export),
    "nsight-systems-file": Target(("systems",), ("CREATE TABLE", "INTEGER", "TEXT")),
    "nsight-compute": Target(("details", "raw"), _COMPUTE_WORDS),
    "traffic": Target(("csv", "histogram", "json lines"), _TRAFFIC_WORDS),
    "traffic-parquet": Target(file_of=_parquet),
    "traffic-parquet-file": Target(("parquet",), ("PAR1",)),
    "any": Target(("trace", "packed", "raw", "csv", "json lines"), ("\x1f\x8b", "PK", "%PDF")),
}
