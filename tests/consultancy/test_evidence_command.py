"""`manage.py evidence show` parses any format without a database, with documented fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.engagements.evidence.test_nsight_systems import tables
from tests.engagements.evidence.test_traffic import frame, histogram, json_lines, parquet
from tests.engagements.evidence.traces import CAPTURES, export, host, kernel, packed, trace

TRACE = {"format", "wall_ms", "gpu_busy_share", "gpu_idle_share", "kernels", "warnings"}
KERNEL = {"name", "calls", "gpu_ms", "share_of_gpu", "share_of_wall"}
COMPUTE = {"format", "kernels", "warnings"}
MEASURED = {"name", "duration_us", "dram_share", "sm_share", "occupancy", "bound", "signature"}
TRAFFIC = {"format", "calls", "distinct_shapes", "effective_shapes", "coverage"}
TRAFFIC |= {"tail_share_of_time", "p50", "p99"}


def shown(file: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    call_command("evidence", "show", str(file), "--json")
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    return facts


@pytest.mark.parametrize(
    "name", sorted(path.name for path in CAPTURES.iterdir() if ".trace.json" in path.name)
)
def test_a_trace_is_shown(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    facts = shown(CAPTURES / name, capsys)
    assert set(facts) == TRACE
    assert facts["format"] == "chrome_trace"
    assert all(set(each) == KERNEL for each in facts["kernels"])
    busy = facts["gpu_busy_share"]
    if busy is None:
        assert (facts["kernels"], facts["gpu_idle_share"]) == ([], None)
        assert facts["warnings"]
    else:
        assert busy + facts["gpu_idle_share"] == pytest.approx(1)
        for each in facts["kernels"]:
            assert each["share_of_wall"] == pytest.approx(each["share_of_gpu"] * busy)


def test_an_export_of_nsight_systems_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = shown(export(tmp_path / "report.sqlite", **tables()), capsys)
    assert set(facts) == TRACE
    assert facts["format"] == "nsight_systems"
    assert facts["kernels"]
    assert all(set(each) == KERNEL for each in facts["kernels"])


@pytest.mark.parametrize(
    "name", sorted(path.name for path in CAPTURES.iterdir() if path.suffix == ".csv")
)
def test_an_export_of_nsight_compute_is_shown(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = shown(CAPTURES / name, capsys)
    assert set(facts) == COMPUTE
    assert facts["format"] == "nsight_compute"
    assert facts["kernels"]
    assert all(set(each) == MEASURED for each in facts["kernels"])


@pytest.mark.parametrize("kind", ["csv", "histogram", "parquet", "json lines"])
def test_traffic_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    written = {
        "csv": frame().to_csv(index=False).encode(),
        "histogram": histogram().to_csv(index=False).encode(),
        "parquet": parquet(frame()),
        "json lines": json_lines(frame()).encode(),
    }
    file = tmp_path / "no extension"
    file.write_bytes(written[kind])
    facts = shown(file, capsys)
    assert set(facts) == TRAFFIC
    assert facts["format"] == "traffic"
    assert set(facts["coverage"]) == {"1", "4", "16"}
    assert facts["calls"] == len(frame())


def test_the_content_determines_the_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "report.csv"
    file.write_bytes(packed(trace(host("step", 0, 100), kernel("gemm", 0, 40))))
    assert shown(file, capsys)["format"] == "chrome_trace"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"traceEvents": [{"ph": "X", "ts": 1}, {"ph"',
        b'{"traceEvents": [{"ph": "X", }]}',
        b"\x7fELF\x02\x01\x01\0\0",
        b'"ID","Process ID","Kernel Name"\n',
        None,
    ],
    ids=["empty", "truncated", "malformed", "other format", "no kernel", "missing"],
)
def test_an_unreadable_file_exits_with_2_and_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    file = tmp_path / "broken"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SystemExit) as ended:
        call_command("evidence", "show", str(file), "--json")
    output = capsys.readouterr()
    assert ended.value.code == 2
    assert output.out == ""
    assert len(output.err.splitlines()) == 1
    assert str(file) in output.err


def test_the_text_form_lists_the_warnings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "calls.csv"
    file.write_text("batch,count\n1,-2\n3,4\n")
    call_command("evidence", "show", str(file))
    assert "\nwarning: 1 " in capsys.readouterr().out
