"""A side that cannot be measured costs its own run one clear line, and nothing is left over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from benchmarks.harness.failures import SetupError, SideFailed
from benchmarks.harness.sides import processes
from benchmarks.harness.sides.processes import SideProcess
from benchmarks.harness.sides.sandboxes import Arrangement, Sandbox
from tests.harness.softmax import EXPLOITS, Measure, softmax_benchmark


def test_one_line_says_what_happened(measure: Measure) -> None:
    # What else may happen is told row by row in tests/exploits/tricks.py.
    reason = r"has no function run\(prepared, inputs, out\)"
    with pytest.raises(SideFailed, match=reason) as failed:
        measure("no_run", round_limit_s=1.0)
    text = str(failed.value)
    assert text.startswith("the candidate ")
    assert "(replicate 1)" in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        ("os._exit(200)", "status 200"),
        ("os._exit(3)", "status 3"),
        ("os.kill(os.getpid(), 40)", "signal 40"),
        ("os.kill(os.getpid(), signal.SIGTERM)", "SIGTERM"),
        ("os._exit(128 + signal.SIGTERM)", "SIGTERM"),
    ],
)
def test_any_exit_status_and_any_signal_is_reported(
    ending: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = ["-c", f"import os, signal; {ending}"]
    monkeypatch.setattr(processes, "python_arguments", lambda module: ended)
    sandbox = Sandbox(
        arrangement=Arrangement(),
        user=os.geteuid(),
        cache=tmp_path / "cache",
        shown=(),
        devices=(),
    )
    with (
        SideProcess(
            role="candidate",
            replicate=0,
            scratch=tmp_path / "scratch",
            sandbox=sandbox,
            threads=1,
            stops_when_idle=False,
        ) as side,
        pytest.raises(SideFailed, match=rf"\b{said}\b"),
    ):
        side.started()


def test_a_baseline_that_is_not_installed_says_how_to_install_it(measure: Measure) -> None:
    with pytest.raises(SideFailed, match=r"NotAvailable: .*pip install it"):
        measure("honest", baseline="missing")


def test_code_that_is_not_the_sealed_one_is_not_measured(measure: Measure) -> None:
    document = softmax_benchmark()
    document["sources"]["reference.py"] = "sha256:" + "0" * 64
    with pytest.raises(SetupError, match=r"row_softmax/reference\.py"):
        measure("honest", document=document)
    document = softmax_benchmark()
    document["definition"]["summary"] = "Something else."
    with pytest.raises(SetupError, match="Definition of row_softmax"):
        measure("honest", document=document)
    document = softmax_benchmark()
    document["sources"] = {"../op.py": document["sources"]["program.py"]}
    with pytest.raises(SetupError, match=r"\.\./op\.py"):
        measure("honest", document=document)


def test_a_killed_referee_leaves_no_side_behind(tmp_path: Path) -> None:
    benchmark = tmp_path / "b.json"
    benchmark.write_text(json.dumps(softmax_benchmark(round_limit_s=60.0)))
    command = [sys.executable, "-m", "benchmarks.harness", "run"]
    referee = subprocess.Popen(
        [*command, benchmark, EXPLOITS / "hangs.py", "--out", tmp_path / "r.json"],
        cwd=Path(__file__).parents[2],
    )
    sides: list[psutil.Process] = []
    deadline = time.monotonic() + 60
    while len(sides) < 2 and time.monotonic() < deadline:
        sides = psutil.Process(referee.pid).children()
        time.sleep(0.1)
    assert len(sides) == 2
    # Once torch is imported both have asked to die with their parent, stopped or not.
    time.sleep(0.5)
    os.kill(referee.pid, signal.SIGKILL)
    referee.wait()
    gone, alive = psutil.wait_procs(sides, timeout=15)
    assert (len(gone), alive) == (2, [])
    assert not (tmp_path / "r.json").exists()
