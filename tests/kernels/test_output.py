"""Every command ends quietly if its reader closes standard output; no other pipe ends one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernels.output import STDOUT_CLOSED

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {
    "claims": ["-m", "kernels", "claims"],
    "list": ["-m", "kernels", "list", "--quick"],
    "help": ["-m", "kernels", "--help"],
    "schema": ["-m", "benchmarks.harness", "schema"],
    "management": ["manage.py", "help"],
}


def ended(command: list[str], *, read: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a command whose standard output is closed, as after `| head`."""
    out, into = os.pipe()
    if not read:
        os.close(out)
    try:
        return subprocess.run(
            [sys.executable, *command], cwd=ROOT, stdout=into, stderr=subprocess.PIPE, text=True
        )
    finally:
        os.close(into)
        if read:
            os.close(out)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(name, marks=[] if name in ("list", "management") else [pytest.mark.soak])
        for name in COMMANDS
    ],
)
def test_a_closed_standard_output_ends_a_command_without_a_traceback(command: str) -> None:
    process = ended(COMMANDS[command])
    assert (process.returncode, process.stderr) == (STDOUT_CLOSED, "")


def test_another_broken_pipe_keeps_its_traceback() -> None:
    """A side's pipe must not end the referee as if standard output had closed."""
    broken = (
        "from kernels.output import exit_when_stdout_closes\nwith exit_when_stdout_closes():\n    "
    )
    process = ended(["-c", f"{broken}raise BrokenPipeError('a side has gone')"], read=True)
    assert process.returncode == 1
    assert "BrokenPipeError: a side has gone" in process.stderr
