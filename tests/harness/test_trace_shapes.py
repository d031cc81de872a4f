"""A log of shapes drafted from a profiler's trace."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.harness import __main__ as harness
from benchmarks.records import benchmark_folders, trace_shapes
from benchmarks.records.folder_errors import FolderError


def _op(name: str, begin: float, lasting: float, key: int, dims: Any) -> dict[str, Any]:
    arguments = {"External id": key} | ({} if dims is None else {"Input Dims": dims})
    times = {"ts": begin, "dur": lasting, "pid": 1, "tid": 2}
    return {"ph": "X", "cat": "cpu_op", "name": name, "args": arguments, **times}


def _kernel(lasting: float, key: int) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": "kernel",
        "name": "k",
        "dur": lasting,
        "ts": 0,
        "args": {"External id": key},
    }


EVENTS = [
    _op("aten::linear", 0, 10, 1, [[16, 256], [64, 256], []]),
    _op("aten::mm", 2, 5, 2, [[16, 256], [256, 64]]),
    _op("aten::mm", 20, 5, 3, [[16, 256], [256, 64]]),
    _op("aten::mm", 30, 5, 4, [[3, 256], [256, 64]]),
    _op("aten::mm", 40, 5, 5, [[2, 3, 256], [256, 64]]),
    _op("aten::mm", 50, 5, 6, None),
    _op("aten::cat", 60, 5, 7, [[[4, 8], [4, 8]], []]),
    _kernel(60.0, 2),
    _kernel(20.0, 3),
    _kernel(10.0, 4),
    # Launched outside of any operator with shapes.
    _kernel(10.0, 99),
]


def _written(folder: Path, events: Any) -> Path:
    path = folder / "trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
    return path


def test_calls_and_the_share_of_time_are_by_operator_and_shape(tmp_path: Path) -> None:
    log = trace_shapes.read(_written(tmp_path, EVENTS).read_bytes(), "t")
    rows = {(row.operator, row.shapes): row for row in log.rows}
    product = rows["aten::mm", "16,256 256,64"]
    assert (product.calls, product.time_us, product.share_of_time) == (2, 80.0, 0.8)
    # The kernels of the operators inside count, too.
    assert rows["aten::linear", "16,256 64,256"].time_us == 60.0
    assert rows["aten::cat", "4,8 4,8"].time_us == 0.0
    assert log.left_out == {"aten::mm: no shapes": 1}


def test_the_log_becomes_workloads_and_what_does_not_fit_is_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, log, folder = _written(tmp_path, EVENTS), tmp_path / "calls.csv", tmp_path / "mine"
    command = ["shapes", str(trace), "--operator", "aten::mm", "--out", str(log)]
    assert harness.main([*command, "--axes", "tokens,hidden hidden,_"]) == 0
    assert "1 calls of 2,3,256 256,64" in capsys.readouterr().err
    with log.open() as opened:
        assert [each["tokens"] for each in csv.DictReader(opened)] == ["16", "3"]
    assert (
        harness.main(["init", "matmul", str(folder), "--from", str(log), "--coverage", "0.5"]) == 0
    )
    document = benchmark_folders.document(benchmark_folders.read(folder))
    named = document["workloads"][0]["axes"]
    assert (named["tokens"], named["hidden"]) == (16, 256)
    assert document["traffic"]["covered"] == pytest.approx(2 / 3, abs=1e-6)
    assert document["traffic"]["covered_time"] == pytest.approx(8 / 9, abs=1e-6)


def test_a_real_trace_of_a_processor_is_read(tmp_path: Path) -> None:
    with torch.profiler.profile(record_shapes=True) as profile:
        for rows in (4, 4, 7):
            torch.mm(torch.ones(rows, 8), torch.ones(8, 3))
    profile.export_chrome_trace(str(tmp_path / "real.json"))
    log = trace_shapes.read((tmp_path / "real.json").read_bytes(), "real.json")
    fitting, left_out = trace_shapes.named(log, "aten::mm", "rows,8 8,columns")
    assert sorted((axes["rows"], row.calls) for row, axes in fitting) == [(4, 2), (7, 1)]
    assert left_out == []
    assert all(0 < row.share_of_time < 1 for row, _ in fitting)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[" * 100_000,
        b'{"traceEvents": 3}',
        b'{"traceEvents": [7, {"cat": "cpu_op"}]}',
        gzip.compress(b"[]", mtime=0)[:-6],
        json.dumps([_op("aten::mm", 0, 1, 1, [[True]]), _op("x", -1, 1, 1, [[2]])]).encode(),
    ],
    ids=["empty", "deep", "number", "other events", "half", "no shapes"],
)
def test_what_is_no_trace_with_shapes_is_refused(content: bytes) -> None:
    with pytest.raises(FolderError) as refused:
        trace_shapes.read(content, "t")
    assert refused.value.code == "folder.log"


@pytest.mark.parametrize(
    "options",
    [["--axes", "a,b"], ["--operator", "aten::bmm"], ["--operator", "aten::mm", "--axes", "a-b"]],
)
def test_operators_and_axes_that_the_trace_lacks_are_refused(
    options: list[str], tmp_path: Path
) -> None:
    assert harness.main(["shapes", str(_written(tmp_path, EVENTS)), *options]) == 2
