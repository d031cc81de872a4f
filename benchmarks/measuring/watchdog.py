"""Runs a command so that nothing of it outlives its parent: `watchdog.py PARENT FOLDER COMMAND…`.

A program of its own, standard library and psutil only. It stands between a worker and the
harness because a worker killed with SIGKILL cleans up nothing: the kernel then tells the
leash, which ends every process below it, also those that made sessions of their own or were
orphaned, and removes the run's folder. Ends with the command's status, 128+N for a signal N.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from types import FrameType

import psutil

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
END_LIMIT_S = 10.0
TOLD_TO_END = 128 + signal.SIGTERM


class ToldToEnd(BaseException):
    """The parent is gone, or wants this over."""


def main(parent: int, folder: str, command: list[str]) -> int:
    """Run the command to its end, or to the parent's."""
    prctl = _prctl()
    signal.signal(signal.SIGTERM, _end)
    try:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        # The parent may have died before the kernel was told to watch it.
        status = _run(command, prctl) if os.getppid() == parent else TOLD_TO_END
    except ToldToEnd:
        status = TOLD_TO_END
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end_all_below()
    if os.getppid() != parent:
        remove(folder)
    return status


def remove(folder: str) -> None:
    """Delete a run's folder at any depth; what cannot be deleted stays."""
    # Python's own removal ends in a RecursionError where folders are nested deep enough.
    subprocess.run(["/bin/rm", "-rf", "--", folder], check=False)


def end_all_below() -> None:
    """Kill every process that descends from this one, and collect what they leave."""
    deadline = time.monotonic() + END_LIMIT_S
    while time.monotonic() < deadline:
        family = psutil.Process().children(recursive=True)
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        while _collect_one():
            pass
        if not family:
            return
        time.sleep(0.01)


def _run(command: list[str], prctl: Callable[[int, int], int]) -> int:
    # This process has one thread, so running code between fork and exec is safe here.
    child = subprocess.Popen(
        command, preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL), close_fds=True
    )
    status = child.wait()
    return status if status >= 0 else 128 - status


def _collect_one() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def _prctl() -> Callable[[int, int], int]:
    function = ctypes.CDLL(None, use_errno=True).prctl
    function.argtypes = [ctypes.c_int, ctypes.c_ulong]
    # ctypes knows no better type; prctl takes an option and one argument here.
    typed: Callable[[int, int], int] = function
    return typed


def _end(number: int, frame: FrameType | None) -> None:
    raise ToldToEnd


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
