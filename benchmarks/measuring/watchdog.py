"""Run a command, and end all its processes with its parent: `watchdog.py PARENT FOLDER COMMAND…`.

A program of its own between a worker and the referee, standard library and psutil only. A worker
killed with SIGKILL cleans up nothing, so the kernel signals this process instead. It kills every
descendant, including orphans and those in sessions of their own, and removes the run's folder.
Exits with the command's status, 128+N for signal N.
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
TERMINATED = 128 + signal.SIGTERM


class Terminated(BaseException):
    """SIGTERM: the parent died or ended the run."""


def main(parent: int, folder: str, command: list[str]) -> int:
    """Run the command until it or the parent ends."""
    prctl = _prctl()
    signal.signal(signal.SIGTERM, _terminate)
    try:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        # The parent may have died before prctl.
        status = _run(command, prctl) if os.getppid() == parent else TERMINATED
    except Terminated:
        status = TERMINATED
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    kill_descendants()
    if os.getppid() != parent:
        remove(folder)
    return status


def remove(folder: str) -> None:
    """Delete a run's folder, as far as permissions allow."""
    # shutil.rmtree raises RecursionError for deeply nested folders.
    subprocess.run(["/bin/rm", "-rf", "--", folder], check=False)


def kill_descendants() -> None:
    """Kill and reap every descendant of this process."""
    deadline = time.monotonic() + END_LIMIT_S
    while time.monotonic() < deadline:
        descendants = psutil.Process().children(recursive=True)
        for process in descendants:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        while _reap_one():
            pass
        if not descendants:
            return
        time.sleep(0.01)


def _run(command: list[str], prctl: Callable[[int, int], int]) -> int:
    # This process has one thread, so running code between fork and exec is safe here.
    child = subprocess.Popen(
        command, preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL), close_fds=True
    )
    status = child.wait()
    return status if status >= 0 else 128 - status


def _reap_one() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def _prctl() -> Callable[[int, int], int]:
    function = ctypes.CDLL(None, use_errno=True).prctl
    function.argtypes = [ctypes.c_int, ctypes.c_ulong]
    typed: Callable[[int, int], int] = function
    return typed


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
