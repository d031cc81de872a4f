"""Traces and exports made by hand, so small that their figures are counted on fingers."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
from pathlib import Path
from typing import Any

from engagements.evidence.readers import TraceFacts, read

CAPTURES = Path(__file__).parent / "captures"


def kernel(
    name: str,
    start: float,
    length: float,
    *,
    device: int = 0,
    stream: int = 7,
    correlation: int | None = None,
    category: str = "kernel",
) -> dict[str, Any]:
    """A device operation, times in microseconds."""
    args: dict[str, Any] = {"device": device, "stream": stream}
    if correlation is not None:
        args["correlation"] = correlation
    place = {"pid": device, "tid": stream, "ts": start, "dur": length}
    return {"ph": "X", "cat": category, "name": name, **place, "args": args}


def host(name: str, start: float, length: float, *, category: str = "cpu_op") -> dict[str, Any]:
    """Something that the host did."""
    place = {"pid": 1, "tid": 1, "ts": start, "dur": length}
    return {"ph": "X", "cat": category, "name": name, **place, "args": {}}


def launch(start: float, correlation: int, name: str = "cudaLaunchKernel") -> dict[str, Any]:
    """A launch by the host, 4 us long."""
    event = host(name, start, 4.0, category="cuda_runtime")
    return event | {"args": {"correlation": correlation}}


def trace(*events: dict[str, Any], **more: Any) -> bytes:
    """A whole trace as the PyTorch profiler wraps it."""
    whole = {"schemaVersion": 1, "traceEvents": list(events), "traceName": "t.json"} | more
    return json.dumps(whole, indent=1).encode()


def facts_of(content: bytes, **asked: Any) -> TraceFacts:
    """The facts of a trace or an export that is given as bytes."""
    facts = read(io.BytesIO(content), "made by a test", **asked)
    assert isinstance(facts, TraceFacts)
    return facts


def captured(name: str) -> TraceFacts:
    """The facts of a capture."""
    facts = read(CAPTURES / name, name)
    assert isinstance(facts, TraceFacts)
    return facts


def packed(content: bytes) -> bytes:
    """Compressed, quickly."""
    return gzip.compress(content, compresslevel=1)


def export(place: Path, **tables: tuple[str, list[tuple[Any, ...]]]) -> Path:
    """A SQLite file with these tables: each its columns, as in SQL, and its rows."""
    with sqlite3.connect(place) as connection:
        for name, (columns, rows) in tables.items():
            connection.execute(f"CREATE TABLE {name} ({columns})")
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
    connection.close()
    return place
