"""Profiling reports missing tools and unknown workloads."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kernels import profiling


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["profiling", "vector_add", "--preset", "tiny", *arguments])
    profiling.main()


def test_without_nsight_compute_every_solution_has_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    _run(monkeypatch, "--only", "torch_")
    table = capsys.readouterr().out
    assert "vector_add" in table
    assert "torch_plain RuntimeError" in table
    assert "`ncu`" in table


def test_the_profilers_own_error_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ncu = tmp_path / "ncu"
    ncu.write_text("#!/bin/sh\necho 'ERR_NVGPUCTRPERM: no access to the counters' >&2\nexit 9\n")
    ncu.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    _run(monkeypatch, "--only", "torch_plain")
    assert "ERR_NVGPUCTRPERM" in capsys.readouterr().out


def test_an_unknown_workload_is_answered_with_the_known_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(SystemExit, match="10000"):
        _run(monkeypatch, "--workload", "nothing")
