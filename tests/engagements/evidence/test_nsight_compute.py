"""What ncu prints, with everything that may stand around and in the table."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from engagements.evidence.readers import ComputeFacts, read
from engagements.evidence.readers.nsight_compute.table import number
from tests.errors import unreadable

DESCRIBING = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream"]
DESCRIBING += ["Block Size", "Grid Size", "Device", "CC"]
METRICS = {
    "gpu__time_duration.sum": "us",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": "%",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "%",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "%",
}


def facts_of(content: str | bytes) -> ComputeFacts:
    encoded = content.encode() if isinstance(content, str) else content
    facts = read(io.BytesIO(encoded), "made by a test")
    assert isinstance(facts, ComputeFacts)
    return facts


def table(*rows: list[str]) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows(rows)
    return out.getvalue()


def launch(number: str, name: str, *values: str) -> list[str]:
    return [
        number,
        "11",
        "python",
        "host",
        name,
        "1",
        "7",
        "(32, 1, 1)",
        "(8, 1, 1)",
        "0",
        "9.0",
        *values,
    ]


def raw(*rows: list[str]) -> str:
    return table(DESCRIBING + list(METRICS), [""] * 11 + list(METRICS.values()), *rows)


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("1,234,567.89", 1234567.89),
        ("158,464", 158464),
        ("1234.5", 1234.5),
        (" 7 ", 7),
        ("-1.5e3", -1500),
        ("no data", None),
        ("nan", None),
        ("inf", None),
        ("n/a", None),
        ("", None),
        ("1,23", None),
        ("1.2; 3.4", None),
        ("PolicySpread", None),
        ("9" * 400, None),
    ],
)
def test_a_cell_is_a_number_or_it_is_not(cell: str, value: float | None) -> None:
    assert number(cell) == value


def test_a_number_is_read_with_the_unit_of_its_column() -> None:
    (kernel,) = facts_of(raw(launch("0", "gemm", "1,250.5", "14.22", "no data", "nan"))).kernels
    assert (kernel.duration_us, kernel.dram_share) == (1250.5, 0.1422)
    assert (kernel.sm_share, kernel.occupancy) == (None, None)


@pytest.mark.parametrize(
    ("unit", "us"),
    [("ns", 0.25), ("nsecond", 0.25), ("us", 250), ("msecond", 250_000), ("s", 250e6), ("%", None)],
)
def test_durations_come_in_any_unit_of_time(unit: str, us: float | None) -> None:
    content = raw(launch("0", "gemm", "250", "1", "1", "1")).replace('"us"', f'"{unit}"')
    assert facts_of(content).kernels[0].duration_us == us


def test_messages_before_between_and_after_the_table_are_warnings() -> None:
    rows = raw(launch("0", "a", "1", "1", "1", "1"), launch("1", "b", "1", "1", "1", "1"))
    lines = rows.splitlines(keepends=True)
    content = (
        "==PROF== Connected to process 11 (/usr/bin/python)\n"
        "==WARNING== Note: Running with unmodified GPU clocks.\n"
        + "".join(lines[:3])
        + '==PROF== Profiling "b" - 1: 0%....100% - 3 passes\n'
        + lines[3]
        + "==ERROR== LaunchFailed, the rest was not profiled\n"
    )
    facts = facts_of(content)
    assert [kernel.name for kernel in facts.kernels] == ["a", "b"]
    assert facts.warnings[:2] == (
        "==WARNING== Note: Running with unmodified GPU clocks.",
        "==ERROR== LaunchFailed, the rest was not profiled",
    )


def test_several_passes_over_one_launch_are_one_kernel() -> None:
    facts = facts_of(
        raw(launch("0", "a", "5", "10", "", ""), launch("0", "a", "no data", "no data", "60", "70"))
    )
    (kernel,) = facts.kernels
    assert (kernel.passes, kernel.duration_us) == (2, 5)
    assert (kernel.dram_share, kernel.sm_share, kernel.occupancy) == (0.10, 0.60, 0.70)


def test_a_report_cut_short_keeps_what_is_whole() -> None:
    content = raw(launch("0", "a", "1", "2", "3", "4"), launch("1", "b", "5", "6", "7", "8"))
    facts = facts_of(content[: content.rindex('"7"')])
    assert [kernel.duration_us for kernel in facts.kernels] == [1, 5]
    assert facts.kernels[1].occupancy is None
    assert any("of 15 values" in warning for warning in facts.warnings)
    within_a_name = facts_of(content[: content.rindex('b"') + 1])
    assert [kernel.name for kernel in within_a_name.kernels] == ["a"]


def test_a_name_may_hold_commas_quotes_and_lines() -> None:
    name = 'void f<int, "x">(float,\n double)'
    assert facts_of(raw(launch("0", name, "1", "2", "3", "4"))).kernels[0].name == name


def test_what_a_spreadsheet_would_run_stays_text() -> None:
    name = '=HYPERLINK("http://example.com")'
    assert facts_of(raw(launch("0", name, "1", "2", "3", "4"))).kernels[0].name == name


def test_wide_text_of_a_windows_shell_is_read() -> None:
    content = raw(launch("0", "gemm", "1", "2", "3", "4"))
    for encoding in ("utf-16", "utf-8-sig"):
        assert facts_of(content.encode(encoding)).kernels[0].name == "gemm"


@pytest.mark.parametrize(
    ("shares", "bound"),
    [
        ({"dram": "91", "sm": "30"}, "memory"),
        ({"dram": "30", "sm": "91"}, "compute"),
        ({"dram": "70", "sm": "65"}, "memory"),
        ({"dram": "20", "sm": "25"}, "latency"),
        ({"dram": "no data", "sm": "no data"}, None),
    ],
)
def test_a_kernel_is_bound_by_what_is_busy(shares: dict[str, Any], bound: str | None) -> None:
    facts = facts_of(raw(launch("0", "a", "100", shares["dram"], shares["sm"], "50")))
    assert facts.kernels[0].bound == bound


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("==PROF== Connected\n==ERROR== The user does not have permission\n", "evidence.no_table"),
        (raw(), "evidence.no_kernels"),
        (table(["ID", "Process ID", "Something"], ["0", "1", "2"]), "evidence.column_missing"),
        (
            raw(launch("0", "a", "1", "1", "1", "1")) + table(["ID", "Process ID", "x"]),
            "evidence.table_mixed",
        ),
        (table(DESCRIBING) + '"' + "x" * 300_000, "evidence.csv_invalid"),
        (table(DESCRIBING) + "x" * 3_000_000, "evidence.line_too_long"),
    ],
)
def test_a_broken_export_fails_with_a_code(content: str, code: str) -> None:
    with unreadable(code):
        facts_of(content)


def test_reading_leaves_the_csv_module_as_it_was() -> None:
    before = csv.field_size_limit()
    facts_of(raw(launch("0", "a", "1", "2", "3", "4")))
    assert csv.field_size_limit() == before
