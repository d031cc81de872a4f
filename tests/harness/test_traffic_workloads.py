"""Workloads and weights drafted from a customer's log of shapes."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import pytest

from benchmarks.harness import __main__ as harness
from benchmarks.records import benchmark_folders, traffic_workloads
from benchmarks.records.folder_errors import FolderError

LOG = b"tokens,count,time_us\n1,900,450\n7,50,450\n16,30,90\n300,20,10\nnone,5,1\n2,many,1\n"


def test_the_most_frequent_shapes_are_named_and_the_rest_is_a_tail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "calls.csv").write_bytes(LOG)
    folder = tmp_path / "logged"
    command = ["init", "elementwise", str(folder), "--from", str(tmp_path / "calls.csv")]
    assert harness.main([*command, "--coverage", "0.94"]) == 0
    document = benchmark_folders.document(benchmark_folders.read(folder))
    loads = [(each["axes"], each["weight"]) for each in document["workloads"]]
    # The middle of the shapes beyond the named ones, weighted by calls.
    assert loads == [
        ({"tokens": 1, "hidden": 256}, pytest.approx(900 / 1006)),
        ({"tokens": 7, "hidden": 256}, pytest.approx(50 / 1006)),
        ({"tokens": 16, "hidden": 256}, pytest.approx(56 / 1006)),
    ]
    # What could not be read is listed, and counts as not covered.
    assert document["traffic"] == {
        "source": "calls.csv", "calls": 1006, "covered": 0.944334, "tail": "tail",
    }  # fmt: skip
    said = capsys.readouterr().err
    assert "row 5: no whole number" in said
    assert "row 6: count is 'many'" in said


def test_a_log_with_times_says_what_share_of_them_is_covered() -> None:
    log = traffic_workloads.read_log(LOG.split(b"none")[0], "calls.csv")
    drafted = traffic_workloads.draft(log, fixed={"tokens": 8}, coverage=0.94)
    assert (drafted.covered, drafted.covered_time) == (0.95, 0.9)


def _log(calls: int, **axes: int) -> traffic_workloads.ShapeLog:
    return traffic_workloads.ShapeLog(shapes=[traffic_workloads.Logged(axes=axes, calls=calls)])


def test_weights_add_up_for_any_coverage_and_json_lines_are_read() -> None:
    lines = b"\n".join(b'{"tokens": %d, "calls": %d}' % (n, n) for n in range(1, 40))
    shapes = traffic_workloads.read_log(lines, "calls.jsonl")
    for coverage in (0.01, 0.5, 1.0):
        drafted = traffic_workloads.draft(shapes, fixed={"tokens": 8}, coverage=coverage)
        assert math.fsum(weight for *_, weight in drafted.workloads) == pytest.approx(1, abs=1e-12)
        assert len(drafted.workloads) <= 9
        assert drafted.has_tail
    first = traffic_workloads.ShapeLog(shapes=shapes.shapes[:3])
    whole = traffic_workloads.draft(first, fixed={"tokens": 8}, coverage=1.0)
    assert (whole.covered, whole.has_tail) == (1.0, False)


def test_calls_beyond_the_listed_shapes_belong_to_the_tail() -> None:
    drafted = traffic_workloads.draft(_log(60, tokens=4), fixed={"tokens": 8}, calls=100)
    assert [weight for *_, weight in drafted.workloads] == [0.6, 0.4]


@pytest.mark.parametrize("content", [b"", b"tokens\nmany\n", b"\xff\xfe", b"{", b"width\n3\n"])
def test_a_log_without_the_operators_axes_writes_nothing(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "calls.csv").write_bytes(content)
    folder = tmp_path / "logged"
    command = ["init", "matmul", str(folder), "--from", str(tmp_path / "calls.csv")]
    assert harness.main(command) == 2
    assert not folder.exists()


def test_only_the_workloads_of_a_description_are_replaced() -> None:
    given = 'a = 1\n[[workloads]]\nname = "x"\n[traffic]\ncalls = 1\n[hardware]\ndevice = "cpu"\n'
    drafted = traffic_workloads.draft(_log(1, n=3), fixed={"n": 1})
    found = tomllib.loads(traffic_workloads.filled(given, drafted, source='a "log"'))
    assert (found["a"], found["hardware"]) == (1, {"device": "cpu"})
    assert [each["axes"] for each in found["workloads"]] == [{"n": 3}]
    assert found["traffic"]["source"] == 'a "log"'


def test_index_tensors_need_the_axis_they_point_into(tmp_path: Path) -> None:
    folder = tmp_path / "ragged"
    assert harness.main(["init", "elementwise", str(folder)]) == 0
    files = benchmark_folders.read(folder)
    ragged = '[[inputs]]\nname = "borders"\nshape = [5]\ndistribution = "offsets"\n'
    text = files["benchmark.toml"].replace("[[outputs]]", f"{ragged}\n[[outputs]]", 1)
    with pytest.raises(FolderError) as refused:
        benchmark_folders.document({**files, "benchmark.toml": text})
    assert refused.value.code == "folder.field"
    fitting = text.replace(ragged, f'{ragged}dtype = "int32"\nbelow = "tokens"\n')
    document = benchmark_folders.document({**files, "benchmark.toml": fitting})
    assert document["definition"]["inputs"][-1]["distribution"] == "offsets"
    missing = fitting.replace('below = "tokens"', 'below = "pages"')
    with pytest.raises(FolderError) as refused:
        benchmark_folders.document({**files, "benchmark.toml": missing})
    assert refused.value.code == "folder.axes"
