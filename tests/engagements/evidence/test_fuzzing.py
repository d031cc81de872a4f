"""Any bytes give facts or one EvidenceError, in bounded time and memory."""

from __future__ import annotations

import base64
import gzip
import io
import json
import sqlite3
import struct
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engagements.evidence.readers import TrafficFacts, confined, limits, read
from tests.engagements.evidence.reader_contract import SAMPLES, assert_read_or_declined, sample
from tests.engagements.evidence.test_nsight_systems import tables
from tests.engagements.evidence.test_traffic import frame, parquet
from tests.engagements.evidence.traces import export, host, kernel
from tests.errors import unreadable

FUZZ = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@st.composite
def damaged(draw: st.DrawFn, name: str) -> bytes:
    """A valid file with a few bytes changed, removed, inserted or repeated."""
    content = bytearray(sample(name))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(content) - 1)))
        length = draw(st.integers(0, 300))
        match draw(st.sampled_from(["change", "cut", "end", "insert", "repeat"])):
            case "change":
                new = draw(st.binary(min_size=1, max_size=8))
                content[place : place + len(new)] = new
            case "cut":
                del content[place : place + length]
            case "end":
                del content[place:]
            case "insert":
                token = draw(st.sampled_from([b'"', b"{", b"[", b"\n", b",", b"\0", b"9" * 400]))
                content[place:place] = token
            case "repeat":
                content[place:place] = content[place : place + length]
    return bytes(content)


WORDS = ["X", "kernel", "cuda_runtime", "user_annotation", "ProfilerStep#1", "1e999"]
SINGLE = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(WORDS)
)
WHATEVER = st.recursive(
    SINGLE,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
CELLS = st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.binary(max_size=8)
CELLS |= st.sampled_from(WORDS)
FIELDS = ("ph", "cat", "name", "pid", "tid", "ts", "dur", "args")


def trace(events: list[dict[str, Any]]) -> bytes:
    """A trace with two valid events and these."""
    return json.dumps(
        {"traceEvents": [host("step", 0, 100), kernel("a", 10, 20), *events]}
    ).encode()


def exported(rows: list[tuple[Any, ...]]) -> bytes:
    """An export of Nsight Systems with these rows."""
    columns = tables()["CUPTI_ACTIVITY_KIND_KERNEL"][0]
    odd = dict.fromkeys(("CUPTI_ACTIVITY_KIND_KERNEL", "NVTX_EVENTS"), (columns, rows))
    with tempfile.TemporaryDirectory() as folder:
        return export(Path(folder) / "report", **tables(**odd)).read_bytes()


INPUTS = {
    **{name: damaged(name) for name in SAMPLES},
    "noise": st.binary(max_size=2000),
    "any fields": st.lists(
        st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, WHATEVER)), max_size=6
    ).map(trace),
    "any rows": st.lists(st.tuples(*[CELLS] * 7), max_size=6).map(exported),
}


@pytest.mark.parametrize("examples", [15, pytest.param(300, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", INPUTS)
def test_damaged_and_random_input_is_read_or_refused(name: str, examples: int) -> None:
    @settings(FUZZ, max_examples=examples)
    @given(INPUTS[name])
    def check(content: bytes) -> None:
        assert_read_or_declined(content)

    check()


@pytest.mark.parametrize(
    "content",
    [
        b"PAR1" + b"\xff" * 100 + b"PAR1",
        b"SQLite format 3\0" + b"\xff" * 600,
        gzip.compress(b"", mtime=0),
        b"\xff\xfe\x00",
    ],
)
def test_a_header_without_its_content_is_refused(content: bytes) -> None:
    assert_read_or_declined(content)


# One byte of a Parquet footer changed: pyarrow 26 ends the process that asks for its column.
PARQUET_THAT_KILLS = base64.b64decode(
    "UEFSMRUAFRwVHCwVAhUAFQYVBhwYCAEAAAAAAAAAGAgBAAAAAAAAABYAKAgBAAAAAAAAABgIAQAAAAAAAAAREQAA"
    "AAIAAAACAQEAAAAAAAAAFQQZLDUAGAZzY2hlbWEVAgAVBCMCGAFtABYCGRwZHCYAHBUEGSUGABkYAW0VABYCFpoB"
    "FpoBJgg8GAgBAAAAAAAAABgIAQAAAAAAAAAWACgIAQAAAAAAAAAYCAEAAAAAAAAAEREAGRwVABUAFQIAPCkGGSYA"
    "AgAAABaaARYCJggWmgEAKCBwYXJxdWV0LWNwcC1hcnJvdyB2ZXJzaW9uIDI2LjAuMRkcHAAAAKwAAABQQVIx"
)


def test_a_contradictory_footer_ends_no_process(tmp_path: Path) -> None:
    file = tmp_path / "contradicting.parquet"
    file.write_bytes(PARQUET_THAT_KILLS)
    with unreadable("evidence.table_invalid"):
        confined.read(file)


def test_durations_without_a_sum_are_none() -> None:
    content = b"m,total_ms\n1,1.7e308\n2,1.7e308\n3,1\n"
    assert_read_or_declined(content)
    facts = read(io.BytesIO(content))
    assert isinstance(facts, TrafficFacts)
    assert facts.p99 == 1.0


@pytest.mark.parametrize(
    "content",
    [
        b'{"traceEvents": [{"ph": "X", "name": "' + b"x" * 20_000_000 + b'"}]}',
        b'{"traceEvents": [' + b'{"a":' * 1_000_000,
        b'{"traceEvents": [' + b'{"a": [{}, ' * 500_000,
        b'{"' + b"x" * 5_000_000,
        b"[" * 5_000_000,
        b"[{" + b"},{" * 2_000_000,
        b'"' + b"a,b\n" * 2_000_000,
        b"a,b\n" + b'"' * 5_000_001,
        b'"ID","Process ID",' + b'"x",' * 200_000 + b"\n" + b'"0","1",' * 100_000,
        b'{"m": ' + b"[" * 900_000 + b"\n",
        b"m\n" + b"1" * 8_000_000,
    ],
    ids=lambda content: content[:16].decode(),
)
def test_input_made_to_take_long_is_read_or_refused_soon(content: bytes) -> None:
    assert_read_or_declined(content)


def test_a_decompression_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DECOMPRESSED_BYTES", 20 * limits.MIB)
    for filling in (b" ", b'{"ph":"X"},\n'):
        bomb = gzip.compress(b'{"traceEvents": [' + filling * (60_000_000 // len(filling)), 1)
        assert len(bomb) < limits.MIB
        with unreadable("evidence.file_too_large", "evidence.event_too_large"):
            read(io.BytesIO(bomb))


def test_a_table_larger_than_memory_is_refused() -> None:
    content = bytearray(parquet(frame()))
    # The footer's length, as a file could lie about it.
    content[-8:-4] = struct.pack("<I", 2**31)
    with unreadable("evidence.table_invalid"):
        read(io.BytesIO(bytes(content)))


def test_a_database_with_one_huge_text_is_refused(tmp_path: Path) -> None:
    file = export(tmp_path / "report", **tables())
    with sqlite3.connect(file) as connection:
        connection.execute("INSERT INTO StringIds VALUES (9, hex(zeroblob(20000000)))")
    connection.close()
    with unreadable("evidence.sqlite_invalid"):
        read(file)
