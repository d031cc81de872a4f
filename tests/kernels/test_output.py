"""A command whose reader has gone ends quietly, whichever it is; no other pipe ends one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernels.output import NOBODY_READS

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {
    "claims": ["-m", "kernels", "claims"],
    "list": ["-m", "kernels", "list", "--quick"],
    "help": ["-m", "kernels", "--help"],
    "schema": ["-m", "benchmarks.harness", "schema"],
    "management": ["manage.py", "help"],
}


def ended(command: list[str], *, read: bool = False) -> subprocess.CompletedProcess[str]:
    """How a command ended whose standard output nobody reads, as after `| head`."""
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


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_nobody_reads_ends_without_a_traceback(command: str) -> None:
    process = ended(COMMANDS[command])
    assert (process.returncode, process.stderr) == (NOBODY_READS, "")


def test_another_broken_pipe_keeps_its_traceback() -> None:
    """Such as that of a side: the referee must not end as if somebody had stopped reading."""
    broken = "from kernels.output import while_it_is_read\nwith while_it_is_read():\n    "
    process = ended(["-c", f"{broken}raise BrokenPipeError('a side has gone')"], read=True)
    assert process.returncode == 1
    assert "BrokenPipeError: a side has gone" in process.stderr
