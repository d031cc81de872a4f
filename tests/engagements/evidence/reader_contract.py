"""The contract of every reader for arbitrary input, and small valid files."""

from __future__ import annotations

import io
import json
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from engagements.evidence.readers import EvidenceError, as_data, from_data, read
from tests.engagements.evidence.test_nsight_systems import tables
from tests.engagements.evidence.test_traffic import frame, histogram, json_lines, parquet
from tests.engagements.evidence.traces import CAPTURES, export, host, kernel, launch, packed, trace

LONGEST_S = 10.0


def assert_read_or_declined(content: bytes) -> None:
    """Reading ends soon, in facts that can be stored and shown, or in an error of one line."""
    # Of the processor, which others may keep busy.
    began = time.process_time()
    facts, said = None, ""
    try:
        facts = read(io.BytesIO(content), "fuzzed")
    except EvidenceError as error:
        said = str(error)
    if facts is None:
        assert said
        assert "\n" not in said
    else:
        stored = json.dumps(as_data(facts), allow_nan=False)
        assert from_data(json.loads(stored)) == facts
        json.dumps(facts.shown(), allow_nan=False)
    assert time.process_time() - began < LONGEST_S


def _ladder() -> bytes:
    lines = (CAPTURES / "ladder_details.ncu.csv").read_bytes().splitlines(keepends=True)
    return b"".join(lines[:80])


def _systems() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return export(Path(folder) / "report", **tables()).read_bytes()


SAMPLES: dict[str, Callable[[], bytes]] = {
    "trace": lambda: trace(host("step", 0, 99), launch(1, 1), kernel("gemm", 10, 20)),
    "packed": lambda: packed(trace(host("step", 0, 99), kernel("gemm", 10, 20))),
    "systems": _systems,
    "details": _ladder,
    "raw": lambda: (CAPTURES / "h200_ncu_raw.csv").read_bytes()[:60_000],
    "csv": lambda: frame().to_csv(index=False).encode(),
    "histogram": lambda: histogram().to_csv(index=False).encode(),
    "json lines": lambda: json_lines(frame()).encode(),
    "parquet": lambda: parquet(frame()),
}


@cache
def sample(name: str) -> bytes:
    """A small good file of this kind."""
    return SAMPLES[name]()
