"""A trace of any size is read in bounded memory, and no file takes more than it is given."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from engagements.evidence.readers import TraceFacts, confined, read, synthetic
from tests.engagements.evidence.test_nsight_systems import tables
from tests.engagements.evidence.traces import export
from tests.errors import unreadable


def test_a_large_trace_is_read_in_little_memory(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    synthetic.write(file, 250_000)
    # Address space, of which an interpreter with numpy alone takes 200 MB.
    facts = confined.read(file, memory_bytes=450_000_000)
    assert isinstance(facts, TraceFacts)
    assert facts.events == 250_000
    assert facts.launches.kernels > 20_000


def test_a_trace_four_times_as_long_takes_hardly_more_memory(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    peaks = []
    for events in (40_000, 160_000):
        synthetic.write(file, events)
        peaks.append(peak_bytes_of_reading(file))
    # 27 MB of text, of which 66 bytes are kept for each kernel with its launch: 1 MB.
    assert peaks[1] - peaks[0] < 10_000_000
    assert peaks[1] < 120_000_000


def peak_bytes_of_reading(file: Path) -> int:
    """The most memory in use by a process of its own that reads this trace."""
    # Not getrusage: what it says of a child begins with what its parent had in use.
    program = (
        "import sys; from engagements.evidence.readers import read; read(sys.argv[1]); "
        "print(open('/proc/self/status').read())"
    )
    said = subprocess.run(
        [sys.executable, "-c", program, str(file)], check=True, capture_output=True, text=True
    ).stdout
    line = next(line for line in said.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def test_the_same_count_of_events_is_the_same_file(tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    for file in (first, second):
        synthetic.write(file, 3000)
    content = first.read_bytes()
    assert second.read_bytes() == content
    whole = json.loads(content)
    assert len(whole["traceEvents"]) == 3000
    facts = read(first)
    assert isinstance(facts, TraceFacts)
    assert len(facts.devices) == 2
    assert {device.streams for device in facts.devices} == {2}
    kernels = [event for event in whole["traceEvents"] if event.get("cat") == "kernel"]
    assert facts.launches.graph_kernel_share == 0
    assert 0 < facts.launches.kernels <= len(kernels)


def test_a_reader_that_takes_too_much_is_ended(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    synthetic.write(file, 45_000)
    with unreadable("evidence.memory_limit", "evidence.reader_crashed"):
        confined.read(file, memory_bytes=120_000_000)
    with unreadable("evidence.time_limit"):
        confined.read(file, wall_s=0.05)


def test_reading_stops_when_nobody_wants_it_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confined, "BEAT_S", 0.05)
    file = tmp_path / "trace.json"
    synthetic.write(file, 250_000)
    with pytest.raises(confined.Stopped):
        confined.read(file, beat=lambda share: False)


@pytest.mark.parametrize("ending", ["read", "too long", "too large"])
def test_a_reader_leaves_no_temporary_file_however_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    export(tmp_path / "report", **tables())
    packed = tmp_path / "report.gz"
    packed.write_bytes(gzip.compress((tmp_path / "report").read_bytes()))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    if ending == "read":
        assert confined.read(packed).format == "nsight_systems"
    elif ending == "too long":
        with unreadable("evidence.time_limit"):
            confined.read(packed, wall_s=0.05)
    else:
        with unreadable("evidence.disk_limit"):
            confined.read(packed, disk_bytes=1000)
    assert list(scratch.iterdir()) == []
