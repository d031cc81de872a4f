"""Files as people send them: in another encoding, with something missing, or quite another one."""

from __future__ import annotations

import io
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from engagements.evidence.readers import ComputeFacts, TraceFacts, TrafficFacts, read
from tests.engagements.evidence.test_nsight_systems import KERNEL_COLUMNS, MS, tables
from tests.engagements.evidence.test_traffic import comma_separated, frame, json_lines
from tests.engagements.evidence.traces import CAPTURES, export, facts_of, host, kernel, trace
from tests.errors import unreadable

TRACE = trace(host("step", 0, 100), kernel("gemm", 10, 20)).decode()
WIDE = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}


def traffic(content: str | bytes) -> TrafficFacts:
    facts = read(io.BytesIO(content.encode() if isinstance(content, str) else content))
    assert isinstance(facts, TrafficFacts)
    return facts


@pytest.mark.parametrize("encoding", WIDE)
def test_a_text_in_utf_16_is_read_as_any_other(encoding: str) -> None:
    def wide(text: str) -> bytes:
        return WIDE[encoding] + text.encode(encoding)

    assert [row.name for row in facts_of(wide(TRACE)).kernels] == ["gemm"]
    table = comma_separated(frame())
    for content in (table, table.replace(",", "\t").replace("\n", "\r\n"), json_lines(frame())):
        assert traffic(wide(content)) == traffic(content)


def test_utf_16_is_followed_across_blocks_and_odd_bytes() -> None:
    # A character of two units, and more than a block of them.
    name = "😀" * 300_000
    facts = facts_of(WIDE["utf-16-le"] + TRACE.replace("gemm", name).encode("utf-16-le"))
    assert set(facts.kernels[0].name) == {"😀"}
    with unreadable("evidence.unknown_format"):
        read(io.BytesIO(WIDE["utf-16-le"] + b"{"))


@pytest.mark.parametrize(
    ("content", "code", "at"),
    [
        (TRACE.encode("utf-16-le"), "evidence.unknown_format", "first bytes"),
        (b"<!DOCTYPE html><html><body>Sign in", "evidence.wrong_format", "first bytes"),
        (b"ARROW1\0\0" + b"\0" * 50, "evidence.wrong_format", "first bytes"),
        (b"{}", "evidence.no_columns", "line 1"),
        (b"null", "evidence.no_calls", ""),
        (b'{"log": {"entries": [{"a": 1}]}}', "evidence.nested_objects", "line 1"),
        (b"m,n\r1,2\r", "evidence.line_endings", "line 1"),
        (b"# a log of ours\nm,n\n1,2\n", "evidence.row_length", "line 2"),
    ],
)
def test_another_file_fails_with_a_code_and_place(content: bytes, code: str, at: str) -> None:
    with unreadable(code, at=at):
        read(io.BytesIO(content))


def test_what_a_spreadsheet_puts_above_the_names_is_passed_over() -> None:
    table = comma_separated(frame())
    assert traffic("sep=;\n" + table.replace(",", ";")) == traffic(table)
    assert traffic("\n\n" + table) == traffic(table)
    with unreadable("evidence.row_length", at="line 5"):
        traffic("sep=,\n\nm,n\n1,2\n3\n")


def test_commas_in_numbers_mean_what_they_mean_where_the_table_comes_from() -> None:
    decimal = traffic("m;duration_us\n1;1,5\n1;1,234\n")
    assert decimal.p99 == 1.5
    grouped = traffic('m,count,duration_us\n1,"1,234","2,000.5"\n2,1,1\n')
    assert (grouped.calls, grouped.p50) == (1235, 2000.5)


def test_parquet_may_hold_lists_structures_and_durations() -> None:
    out = io.BytesIO()
    columns = {
        "shape": [[1, 128], [1, 128], [2, 256]],
        "axes": [{"m": 1}, {"m": 1}, None],
        "time": pa.array([1, 2, 3], pa.duration("us")),
    }
    pa.parquet.write_table(pa.table(columns), out)
    facts = traffic(out.getvalue())
    assert facts.axes == ("shape", "axes.m")
    assert (facts.distinct_shapes, facts.p50, facts.duration_unit) == (2, 2.0, "us")
    assert facts.shapes[0].axes == {"shape": "[1, 128]", "axes.m": "1"}


def test_a_raw_page_without_its_units_says_so() -> None:
    lines = (CAPTURES / "h200_ncu_raw.csv").read_text().splitlines(keepends=True)
    header = next(place for place, line in enumerate(lines) if line.startswith('"ID"'))
    facts = read(io.BytesIO("".join(lines[: header + 1] + lines[header + 2 :]).encode()))
    assert isinstance(facts, ComputeFacts)
    assert facts.kernels[0].duration_us is None
    assert sum("row of units" in warning for warning in facts.warnings) == 1


def test_what_a_trace_lacks_is_said() -> None:
    lacking = facts_of(
        trace(kernel("a", 0, 50), kernel("b", 60, -5), kernel("c", 70, 0) | {"dur": "x"})
    )
    assert [row.name for row in lacking.kernels] == ["a"]
    assert any(warning.startswith("2 events without") for warning in lacking.warnings)
    alone = trace(kernel("a", 0, 50), distributedInfo={"rank": 0, "world_size": 1})
    third = trace(kernel("a", 0, 50), distributedInfo={"rank": 3, "world_size": 8})
    assert not any("rank" in warning for warning in facts_of(alone).warnings)
    assert any("rank 3 of 8" in warning for warning in facts_of(third).warnings)


def test_times_are_microseconds_whatever_unit_is_displayed() -> None:
    events = [kernel("a", 0, 50), host("step", 0, 100)]
    shown = [facts_of(trace(*events, displayTimeUnit=unit)).wall_ms for unit in ("ns", "ms")]
    assert shown == [0.1, 0.1]


def test_a_database_with_a_write_ahead_log_is_recognised(tmp_path: Path) -> None:
    place = tmp_path / "report"
    connection = sqlite3.connect(place)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({KERNEL_COLUMNS})")
    connection.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2000, 0, 7, 1)")
    connection.commit()
    with unreadable("evidence.sqlite_wal"):
        read(io.BytesIO(place.read_bytes()))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    facts = read(io.BytesIO(place.read_bytes()))
    connection.close()
    assert isinstance(facts, TraceFacts)
    assert any("without a name" in warning for warning in facts.warnings)


def test_an_export_of_early_2021_names_its_devices(tmp_path: Path) -> None:
    early = tables(TARGET_INFO_CUDA_GPU=("deviceId INTEGER, name TEXT", [(0, "A100")]))
    del early["TARGET_INFO_GPU"]
    facts = read(export(tmp_path / "early", **early))
    assert isinstance(facts, TraceFacts)
    assert facts.devices[0].name == "A100"


def test_an_export_without_kernels_says_how_to_record_them(tmp_path: Path) -> None:
    copies = (f"{KERNEL_COLUMNS}, copyKind INTEGER", [(0, MS, 0, 7, 1, 1)])
    facts = read(export(tmp_path / "copies", CUPTI_ACTIVITY_KIND_MEMCPY=copies))
    assert isinstance(facts, TraceFacts)
    assert any("nsys --trace=cuda" in warning for warning in facts.warnings)
