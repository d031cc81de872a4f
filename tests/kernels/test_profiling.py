"""Profiling says what it lacks and which workloads there are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kernels import profiling


def _asked(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["profiling", "vector_add", "--preset", "tiny", *words])
    profiling.main()


def test_without_nsight_compute_every_solution_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    _asked(monkeypatch, "--only", "torch_")
    told = capsys.readouterr().out
    assert "vector_add" in told
    assert "torch_plain RuntimeError: profiling needs Nsight Compute" in told


def test_what_the_profiler_was_refused_is_told_in_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ncu = tmp_path / "ncu"
    ncu.write_text("#!/bin/sh\necho 'ERR_NVGPUCTRPERM: no access to the counters' >&2\nexit 9\n")
    ncu.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    _asked(monkeypatch, "--only", "torch_plain")
    assert "ERR_NVGPUCTRPERM" in capsys.readouterr().out


def test_a_workload_that_is_not_there_is_answered_with_those_that_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(SystemExit, match="it has"):
        _asked(monkeypatch, "--workload", "nothing")
