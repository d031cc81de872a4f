"""Read the tables of an export of any schema version.

Times are nanoseconds from the start of the session. Versions differ in their tables, and in whether
a text is in its row or in StringIds.
"""

from __future__ import annotations

import re
from typing import Any

from engagements.evidence.readers import recording
from engagements.evidence.readers.chrome_trace.categories import COPIES, GRAPH_LAUNCHES, LAUNCHES
from engagements.evidence.readers.errors import EvidenceError
from engagements.evidence.readers.nsight_systems.database import Database, connected
from engagements.evidence.readers.opening import Opened
from engagements.evidence.readers.recording import NO_CORRELATION, Names, Recording

KERNELS, COPIED, SET = (f"CUPTI_ACTIVITY_KIND_{kind}" for kind in ("KERNEL", "MEMCPY", "MEMSET"))
GRAPHS, CALLS, WAITS = (
    f"CUPTI_ACTIVITY_KIND_{kind}" for kind in ("GRAPH_TRACE", "RUNTIME", "SYNCHRONIZATION")
)
NVTX = "NVTX_EVENTS"
KNOWN = (KERNELS, COPIED, SET, GRAPHS, CALLS, NVTX)

# Table and column of device names, now and until mid-2021.
DEVICES = (("TARGET_INFO_GPU", "id"), ("TARGET_INFO_CUDA_GPU", "deviceId"))
# Columns of device operations.
_OPERATION = ("start", "end", "deviceId", "streamId", "correlationId", "globalPid")
MOST_PROCESSES = 100_000

# NVTX events of these types are ranges: pushed and popped, and started and ended.
_RANGES = frozenset({59, 60})
# CUpti_ActivityMemcpyKind, as in the profiler traces of PyTorch.
_DIRECTIONS = {1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP"}
_VERSION_SUFFIX = re.compile(r"_v\d+$")
_LONGEST_NS = 10**18


def record(opened: Opened) -> Recording:
    """Record an export. EvidenceError when it is invalid or not from Nsight Systems."""
    with opened.on_disk() as path, connected(path) as database:
        return Reader(database).record()


class Reader:
    """Fill a recording from a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._recording = Recording(format="nsight_systems")
        self._texts: dict[int, str] = {}
        self._processes: dict[int, int] = {}
        # Correlation ids restart in every process; older exports omit the process.
        self._has_processes = all(
            "GLOBALPID" in database.columns(table)
            for table in (KERNELS, COPIED, SET, GRAPHS)
            if table in database.tables
        )

    def record(self) -> Recording:
        """Read every table."""
        self._check_tables()
        self._read_texts()
        self._read_kernels()
        self._read_copies()
        self._read_calls()
        self._read_ranges()
        self._read_devices()
        found = self._recording
        found.producer = f"Nsight Systems {self._version()}".strip()
        if found.high_us < found.low_us:
            raise EvidenceError("The export has no events", code="evidence.no_events")
        return found

    def _check_tables(self) -> None:
        tables = self._database.tables
        if not tables and self._database.has_log:
            raise EvidenceError(
                "The tables are in the write-ahead log (FILE-wal), which is not part of this file; "
                "close the program that has the database open, or export again",
                code="evidence.sqlite_wal",
            )
        if not any(table in tables for table in KNOWN):
            raise EvidenceError(
                "This SQLite file is not an Nsight Systems export; it has none of the tables "
                f"{', '.join(KNOWN)}",
                code="evidence.sqlite_other",
            )
        if KERNELS not in tables and GRAPHS not in tables:
            self._recording.warn(
                f"No kernels were recorded (no table {KERNELS}): profile with nsys --trace=cuda."
            )

    def _read_texts(self) -> None:
        kept = Names()
        for number, text in self._database.rows("STRINGIDS", "id", "value"):
            if isinstance(number, int) and isinstance(text, str):
                self._texts[number] = kept.texts[kept.number(text)]
            if kept.is_full:
                raise EvidenceError(
                    "The table has too many strings; profile fewer steps",
                    code="evidence.recording_too_large",
                    where="table StringIds",
                )

    def _read_kernels(self) -> None:
        names = ("demangledName", "shortName", "mangledName")
        for row in self._rows(KERNELS, *_OPERATION, *names):
            texts = map(self._text, row[len(_OPERATION) :])
            found = next((text for text in texts if text), "")
            if not found:
                self._recording.warn("Kernels without a name are counted together as (kernel).")
            self._add_operation(recording.KERNEL, found or "(kernel)", row)
        # A graph traced as a whole has no separate kernels.
        for row in self._rows(GRAPHS, *_OPERATION):
            self._add_operation(recording.KERNEL, "(CUDA graph as a whole)", row)

    def _read_copies(self) -> None:
        for row in self._rows(COPIED, *_OPERATION, "copyKind"):
            name = f"Memcpy {_DIRECTIONS.get(row[-1], '')}".strip()
            self._add_operation(recording.COPY, name, row)
        for row in self._rows(SET, *_OPERATION):
            self._add_operation(recording.MEMSET, "Memset", row)

    def _add_operation(self, kind: int, name: str, row: tuple[Any, ...]) -> None:
        span = self._span(row)
        if span is None:
            return
        columns = self._recording.operations
        columns.starts.append(span[0])
        columns.ends.append(span[1])
        columns.kinds.append(kind)
        columns.names.append(self._recording.names.number(name))
        columns.devices.append(_integer(row[2], 0))
        columns.streams.append(_integer(row[3], 0))
        columns.correlations.append(self._correlation(row[4], row[5]))

    def _correlation(self, number: Any, process: Any) -> int:
        """Return an id shared by a launch and its operations only.

        `process` is the id of a process or of its thread, whose low 24 bits differ.
        """
        found = _integer(number, NO_CORRELATION, bits=39)
        if not self._has_processes or found < 0 or not isinstance(process, int):
            return found
        own = process >> 24
        if own not in self._processes and len(self._processes) >= MOST_PROCESSES:
            return NO_CORRELATION
        return self._processes.setdefault(own, len(self._processes)) << 40 | found

    def _read_calls(self) -> None:
        columns = self._recording.calls
        kinds: dict[Any, int | None] = {}
        self._recording.has_calls = CALLS in self._database.tables
        for row in self._rows(CALLS, "start", "end", "globalTid", "correlationId", "nameId"):
            span = self._span(row)
            if span is None:
                continue
            name_id = row[4] if isinstance(row[4], int) else None
            if name_id not in kinds:
                kinds[name_id] = _kind_of_call(self._text(name_id))
            kind = kinds[name_id]
            if kind is None:
                continue
            columns.starts.append(span[0])
            columns.ends.append(span[1])
            columns.threads.append(self._recording.threads.number(str(row[2])))
            columns.correlations.append(self._correlation(row[3], row[2]))
            columns.kinds.append(kind)
        for row in self._rows(WAITS, "start", "end"):
            span = self._span(row)
            if span is not None:
                self._recording.synced_us += span[1] - span[0]

    def _read_ranges(self) -> None:
        columns = self._recording.ranges
        for row in self._rows(NVTX, "start", "end", "globalTid", "text", "textId", "eventType"):
            if row[5] is not None and row[5] not in _RANGES:
                continue
            span = self._span(row)
            text = self._text(row[3]) or self._text(row[4])
            if span is None or not text:
                continue
            columns.starts.append(span[0])
            columns.ends.append(span[1])
            columns.threads.append(self._recording.threads.number(str(row[2])))
            columns.names.append(self._recording.names.number(text))
            columns.kinds.append(recording.ANNOTATION)

    def _read_devices(self) -> None:
        for table, key in DEVICES:
            for number, name in list(self._database.rows(table, key, "name"))[:1024]:
                if isinstance(number, int) and isinstance(name, str):
                    self._recording.device_names.setdefault(number, name[:200])

    def _rows(self, table: str, *columns: str) -> Any:
        """Yield the rows of a table, none for a missing table."""
        known = self._database.columns(table)
        lacks = [name for name in columns[:2] if name.upper() not in known]
        if lacks and table in self._database.tables:
            raise EvidenceError(
                f"Missing column: {', '.join(lacks)}",
                code="evidence.column_missing",
                where=f"table {table}",
            )
        count = 0
        for row in self._database.rows(table, *columns):
            if count % 100_000 == 0:
                self._recording.check_size()
            count += 1
            yield row
        self._recording.events += count

    def _span(self, row: tuple[Any, ...]) -> tuple[float, float] | None:
        """Return start and end in microseconds; None for an instant or an invalid interval."""
        start, end = row[0], row[1]
        if not isinstance(start, int) or not isinstance(end, int):
            return None
        if not -_LONGEST_NS < start <= end < _LONGEST_NS:
            return None
        start_us, end_us = start / 1e3, end / 1e3
        found = self._recording
        if start_us < found.low_us:
            found.low_us = start_us
        if end_us > found.high_us:
            found.high_us = end_us
        return start_us, end_us

    def _text(self, value: Any) -> str:
        """Return a text, or look it up by its number in StringIds."""
        return value if isinstance(value, str) else self._texts.get(value, "")

    def _version(self) -> str:
        for name, value in list(self._database.rows("META_DATA_EXPORT", "name", "value"))[:1000]:
            if name == "EXPORT_SCHEMA_VERSION" and isinstance(value, str | int):
                return f"(schema {str(value)[:40]})"
        return ""


def _kind_of_call(name: str) -> int | None:
    """Return the kind of launch of a call; None when it launches nothing."""
    plain = _VERSION_SUFFIX.sub("", name)
    if GRAPH_LAUNCHES.search(plain):
        return recording.GRAPH_LAUNCH
    if LAUNCHES.search(plain) or COPIES.search(plain):
        return recording.LAUNCH
    return None


def _integer(value: Any, default: int, *, bits: int = 31) -> int:
    return value if isinstance(value, int) and -(2**bits) <= value < 2**bits else default
