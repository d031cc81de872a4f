"""Exports of Nsight Systems, of schemas old and new, and files that only pretend to be one."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from engagements.evidence.readers import TraceFacts, limits, read
from tests.engagements.evidence.traces import export
from tests.errors import unreadable

STRINGS = (
    "id INTEGER, value TEXT",
    [(1, "flash_fwd"), (2, "cudaLaunchKernel_v7000"), (3, "layer")],
)
KERNEL_COLUMNS = (
    "start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER"
)
MS = 1_000_000


def tables(**more: Any) -> dict[str, Any]:
    """An export with two kernels on two streams, a copy, launches and a range."""
    return {
        "StringIds": STRINGS,
        "CUPTI_ACTIVITY_KIND_KERNEL": (
            f"{KERNEL_COLUMNS}, demangledName INTEGER, shortName INTEGER",
            [(10 * MS, 40 * MS, 0, 7, 1, 1, 1), (30 * MS, 50 * MS, 0, 8, 2, 1, 1)],
        ),
        "CUPTI_ACTIVITY_KIND_MEMCPY": (
            f"{KERNEL_COLUMNS}, copyKind INTEGER",
            [(60 * MS, 70 * MS, 0, 7, 3, 1)],
        ),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (
            "start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER",
            [
                (0, 5000, 99, 1, 2),
                (20 * MS, 20 * MS + 5000, 99, 2, 2),
                (99 * MS, 100 * MS, 99, 9, 2),
            ],
        ),
        "NVTX_EVENTS": (
            "start INTEGER, end INTEGER, globalTid INTEGER, text TEXT, textId INTEGER, "
            "eventType INTEGER",
            [(0, 15 * MS, 99, None, 3, 59), (1, None, 99, "mark", None, 34)],
        ),
        "TARGET_INFO_GPU": ("id INTEGER, name TEXT", [(0, "NVIDIA H200")]),
        "META_DATA_EXPORT": ("name TEXT, value TEXT", [("EXPORT_SCHEMA_VERSION", "3.13.1")]),
    } | more


def facts_of(file: Path) -> TraceFacts:
    facts = read(file, file.name)
    assert isinstance(facts, TraceFacts)
    return facts


def test_an_export_says_what_a_trace_would(tmp_path: Path) -> None:
    facts = facts_of(export(tmp_path / "report", **tables()))
    assert (facts.format, facts.wall_ms) == ("nsight_systems", 100)
    assert facts.producer == "Nsight Systems (schema 3.13.1)"
    assert facts.gpu_busy_share == pytest.approx(0.50)
    (kernel,) = facts.kernels
    assert (kernel.name, kernel.calls, kernel.gpu_ms) == ("flash_fwd", 2, 50)
    assert kernel.share_of_wall == pytest.approx(0.40)
    assert facts.copy_share == pytest.approx(0.10)
    assert [(row.name, row.calls) for row in facts.ranges] == [("layer", 1)]
    assert facts.launches.calls == 3
    assert facts.devices[0].name == "NVIDIA H200"


def test_processes_count_their_launches_each_from_one(tmp_path: Path) -> None:
    first, second = 1 << 24, 2 << 24
    by_process = tables(
        CUPTI_ACTIVITY_KIND_KERNEL=(
            f"{KERNEL_COLUMNS}, globalPid INTEGER, shortName INTEGER",
            [(10 * MS, 40 * MS, 0, 7, 1, first, 1), (10 * MS, 50 * MS, 1, 7, 1, second, 1)],
        ),
        CUPTI_ACTIVITY_KIND_RUNTIME=(
            "start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER",
            [(0, 5000, first + 99, 1, 2), (1000, 6000, second + 98, 1, 2)],
        ),
        NVTX_EVENTS=(
            "start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER, eventType INTEGER",
            [(0, 15 * MS, second + 98, 3, 59)],
        ),
    )
    del by_process["CUPTI_ACTIVITY_KIND_MEMCPY"]
    facts = facts_of(export(tmp_path / "report", **by_process))
    # Only the second process was in the range: 40 ms, and not the 30 ms of the first.
    assert [(row.name, row.calls, row.gpu_ms) for row in facts.ranges] == [("layer", 1, 40)]
    assert len(facts.devices) == 2


def test_an_older_export_keeps_texts_in_its_rows(tmp_path: Path) -> None:
    older = tables(
        CUPTI_ACTIVITY_KIND_KERNEL=(
            f"{KERNEL_COLUMNS}, demangledName TEXT",
            [(0, 100 * MS, 0, 7, 1, "gemm<float>")],
        )
    )
    del older["StringIds"], older["TARGET_INFO_GPU"], older["META_DATA_EXPORT"]
    facts = facts_of(export(tmp_path / "report", **older))
    assert facts.kernels[0].name == "gemm<float>"


def test_tables_that_were_not_recorded_are_missed_by_nobody(tmp_path: Path) -> None:
    only = {"CUPTI_ACTIVITY_KIND_KERNEL": tables()["CUPTI_ACTIVITY_KIND_KERNEL"]}
    facts = facts_of(export(tmp_path / "report", **only))
    assert facts.gpu_busy_share == pytest.approx(1.0)
    assert facts.launches.calls is None
    assert any("not recorded" in warning for warning in facts.warnings)


def test_rows_that_make_no_sense_are_passed_over(tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [
        (None, 5, 0, 7, 1, 1, 1),
        (50, 5, 0, 7, 1, 1, 1),
        ("a", "b", 0, 7, 1, 1, 1),
        (2**62, 2**63 - 1, 0, 7, 1, 1, 1),
        (0, 10, 2**60, "x", b"y", 777, 1),
    ]
    columns = tables()["CUPTI_ACTIVITY_KIND_KERNEL"][0]
    changed = tables(CUPTI_ACTIVITY_KIND_KERNEL=(columns, rows))
    facts = facts_of(export(tmp_path / "report", **changed))
    assert [(row.name, row.calls) for row in facts.kernels] == [("flash_fwd", 1)]


def test_a_table_without_times_is_named(tmp_path: Path) -> None:
    odd = tables(CUPTI_ACTIVITY_KIND_KERNEL=("start INTEGER", [(1,)]))
    with unreadable("evidence.column_missing", at="table CUPTI_ACTIVITY_KIND_KERNEL"):
        facts_of(export(tmp_path / "report", **odd))


def test_another_database_is_refused(tmp_path: Path) -> None:
    with unreadable("evidence.sqlite_other"):
        facts_of(export(tmp_path / "other", people=("name TEXT", [("Ada",)])))


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    file = export(tmp_path / "report", **tables())
    content = bytearray(file.read_bytes())
    content[100:3000] = b"\xff" * 2900
    file.write_bytes(content)
    with unreadable("evidence.sqlite_invalid"):
        facts_of(file)
    file.write_bytes(content[:700])
    with unreadable("evidence.sqlite_invalid", "evidence.sqlite_other"):
        facts_of(file)


def test_a_view_that_never_ends_is_never_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "hostile"
    with sqlite3.connect(file) as connection:
        connection.execute(
            "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start, end) AS "
            "(SELECT 1, 2 UNION ALL SELECT start + 1, end + 1 FROM n) SELECT * FROM n"
        )
    with unreadable("evidence.sqlite_other"):
        facts_of(file)


def test_columns_that_are_computed_are_not_read(tmp_path: Path) -> None:
    file = tmp_path / "hostile"
    with sqlite3.connect(file) as connection:
        connection.execute(
            'CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, "end" INTEGER '
            "GENERATED ALWAYS AS (length(hex(zeroblob(100000000)))))"
        )
        connection.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start) VALUES (1)")
    with unreadable("evidence.column_missing", at="table CUPTI_ACTIVITY_KIND_KERNEL"):
        facts_of(file)


def test_reading_ends_after_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(n, n + 1, 0, 7, n, 1, 1) for n in range(60_000)]
    columns = tables()["CUPTI_ACTIVITY_KIND_KERNEL"][0]
    file = export(tmp_path / "report", **tables(CUPTI_ACTIVITY_KIND_KERNEL=(columns, rows)))
    monkeypatch.setattr(limits, "SQL_SECONDS", 0.0)
    with unreadable("evidence.time_limit"):
        facts_of(file)


def test_the_file_is_not_written_to(tmp_path: Path) -> None:
    file = export(tmp_path / "report", **tables())
    before = file.read_bytes()
    facts_of(file)
    assert file.read_bytes() == before
    assert [place.name for place in tmp_path.iterdir()] == ["report"]
