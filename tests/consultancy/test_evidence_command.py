"""`manage.py evidence show`: any file, without a database, in exactly the promised fields."""

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
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


@pytest.mark.parametrize(
    "name", sorted(path.name for path in CAPTURES.iterdir() if ".trace.json" in path.name)
)
def test_a_trace_is_shown(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = shown(CAPTURES / name, capsys)
    assert set(answer) == TRACE
    assert answer["format"] == "chrome_trace"
    assert all(set(each) == KERNEL for each in answer["kernels"])
    busy = answer["gpu_busy_share"]
    if busy is None:
        assert (answer["kernels"], answer["gpu_idle_share"]) == ([], None)
        assert answer["warnings"]
    else:
        assert busy + answer["gpu_idle_share"] == pytest.approx(1)
        for each in answer["kernels"]:
            assert each["share_of_wall"] == pytest.approx(each["share_of_gpu"] * busy)


def test_an_export_of_nsight_systems_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = shown(export(tmp_path / "report.sqlite", **tables()), capsys)
    assert set(answer) == TRACE
    assert answer["format"] == "nsight_systems"
    assert answer["kernels"]
    assert all(set(each) == KERNEL for each in answer["kernels"])


@pytest.mark.parametrize(
    "name", sorted(path.name for path in CAPTURES.iterdir() if path.suffix == ".csv")
)
def test_an_export_of_nsight_compute_is_shown(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = shown(CAPTURES / name, capsys)
    assert set(answer) == COMPUTE
    assert answer["format"] == "nsight_compute"
    assert answer["kernels"]
    assert all(set(each) == MEASURED for each in answer["kernels"])


@pytest.mark.parametrize("kind", ["csv", "histogram", "parquet", "json lines"])
def test_traffic_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    written = {
        "csv": frame().to_csv(index=False).encode(),
        "histogram": histogram().to_csv(index=False).encode(),
        "parquet": parquet(frame()),
        "json lines": json_lines(frame()).encode(),
    }
    file = tmp_path / "a name that says nothing"
    file.write_bytes(written[kind])
    answer = shown(file, capsys)
    assert set(answer) == TRAFFIC
    assert answer["format"] == "traffic"
    assert set(answer["coverage"]) == {"1", "4", "16"}
    assert answer["calls"] == len(frame())


def test_the_content_decides_and_not_the_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "report.csv"
    file.write_bytes(packed(trace(host("step", 0, 100), kernel("gemm", 0, 40))))
    assert shown(file, capsys)["format"] == "chrome_trace"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "The file is empty"),
        (b'{"traceEvents": [{"ph": "X", "ts": 1}, {"ph"', "cut short"),
        (b'{"traceEvents": [{"ph": "X", }]}', "after byte"),
        (b"\x7fELF\x02\x01\x01\0\0", "none of the formats"),
        (b'"ID","Process ID","Kernel Name"\n', "no kernel"),
    ],
)
def test_what_cannot_be_read_ends_with_2_and_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, says: str
) -> None:
    file = tmp_path / "broken"
    file.write_bytes(content)
    with pytest.raises(SystemExit) as ended:
        call_command("evidence", "show", str(file), "--json")
    said = capsys.readouterr()
    assert ended.value.code == 2
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert says in said.err


def test_a_file_that_is_not_there_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        call_command("evidence", "show", str(tmp_path / "nothing"), "--json")
    assert ended.value.code == 2
    assert "cannot be opened" in capsys.readouterr().err


def test_in_words_a_log_says_what_was_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "calls.csv"
    file.write_text("batch,count\n1,-2\n3,4\n")
    call_command("evidence", "show", str(file))
    assert "warning: 1 rows without a positive count were left out." in capsys.readouterr().out
