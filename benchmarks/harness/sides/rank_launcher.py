"""Start the ranks of a side, inside its sandbox: one process for each `--channel`.

All share the side's user, network, scratch folder and limits. The first rank to end ends the
others, since they would wait for it in their next collective, and its exit status becomes this
process's.
"""

import argparse
import contextlib
import ctypes
import os
import signal
import subprocess
import sys

_PR_SET_PDEATHSIG = 1
_SIGNAL_STATUS = 128


def main() -> int:
    """Run all ranks until one ends; returns its status, 128 + N after signal N."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--channel", type=int, action="append", required=True)
    channels = parser.parse_args().channel
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return 1
    # -P: never import from the scratch folder, which the side can write.
    python = [sys.executable, "-P", "-X", "faulthandler", "-m", "benchmarks.harness.sides.side"]
    ranks = [
        subprocess.Popen([*python, "--channel", str(channel)], pass_fds=[channel])
        for channel in channels
    ]
    for channel in channels:
        # Only its own process may hold a rank's channel open.
        os.close(channel)
    pid, status = os.wait()
    for process in ranks:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    rank = next(number for number, process in enumerate(ranks) if process.pid == pid)
    code = os.waitstatus_to_exitcode(status)
    print(f"rank {rank} ended first, with status {code}", file=sys.stderr)
    return code if code >= 0 else _SIGNAL_STATUS - code


if __name__ == "__main__":
    sys.exit(main())
