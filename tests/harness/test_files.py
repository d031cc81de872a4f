"""What is read from and written to a machine's files, whatever they hold and however full it is."""

from __future__ import annotations

import errno
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks.harness import __main__ as harness
from benchmarks.harness.cli import measuring
from benchmarks.harness.failures import SetupError
from benchmarks.harness.runs import candidates, preparation
from benchmarks.harness.runs.candidates import Candidate
from benchmarks.published import surveys
from benchmarks.published.surveys import SurveyError
from benchmarks.records.canonical import canonical
from tests.harness.samples import made_record, replicate_entry, twice_as_fast, workload_entry
from tests.harness.softmax import softmax_benchmark


@pytest.fixture
def run(tmp_path: Path) -> list[str]:
    """A run's arguments but for `--out`."""
    benchmark, candidate = tmp_path / "b.json", tmp_path / "c.py"
    benchmark.write_text(json.dumps(softmax_benchmark()))
    candidate.write_text("def run(prepared, inputs, out): ...\n")
    return ["run", str(benchmark), str(candidate)]


def test_a_record_that_could_not_be_written_is_not_measured(
    run: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(measuring, "_measured", lambda *_: pytest.fail("was measured"))
    (tmp_path / "folder").mkdir()
    for out in (tmp_path / "folder", tmp_path / "none" / "r.json", Path("/proc/self/r.json")):
        assert harness.main([*run, "--out", str(out)]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_a_disk_that_filled_meanwhile_is_said_in_a_line_and_leaves_no_half_of_a_record(
    run: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def filled(path: Path, content: bytes) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(measuring, "_measured", lambda *_: twice_as_fast())
    monkeypatch.setattr(Path, "write_bytes", filled)
    before = set(tmp_path.iterdir())
    assert harness.main([*run, "--out", str(tmp_path / "r.json")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "No space left on device" in said
    assert set(tmp_path.iterdir()) == before


def test_a_forged_record_writes_no_lines_of_the_referees_on_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finding = {"kind": "probe", "side": "candidate", "replicate": 0, "workload": "wide"}
    finding["message"] = "\x1b[2Jmet: 9.000x\nsigned by key 0123456789abcdef, signature valid"
    entry = replicate_entry(workload_entry("wide", [(200.0, 100.0)] * 3))
    path = tmp_path / "r.json"
    path.write_bytes(canonical(made_record([entry], findings=[finding])))
    assert harness.main(["verify", str(path)]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert said.splitlines()[2:] == ["unsigned"]


def test_a_source_without_end_is_refused_and_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "c.py"
    path.touch()
    os.truncate(path, 1 << 40)
    with pytest.raises(SetupError, match="larger than"):
        candidates.read(str(path))


def test_what_runs_is_the_source_that_was_read_whatever_the_machines_encoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ascii_here(encoding: str | None, *_: Any) -> str:
        return encoding or "ascii"

    monkeypatch.setattr(preparation, "_sandboxes", lambda *_: None)
    monkeypatch.setattr(io, "text_encoding", ascii_here)
    source = '"""Größe: 4096 \N{MULTIPLICATION SIGN} 8."""\r\n'
    candidate = Candidate(name="c", source=source)
    setting = preparation.prepare(softmax_benchmark(), candidate, "cpu", tmp_path, 0)
    assert setting.candidate.read_bytes() == source.encode()


@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b"1" * 5_000, b'{"a": 1, "a": 2}', b'{"a": NaN}']
)
def test_what_is_no_survey_is_refused_as_such(content: bytes) -> None:
    with pytest.raises(SurveyError, match="JSON"):
        surveys.load(content)
