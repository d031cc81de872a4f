"""All processes of one side: held still while it is not its turn, and the work they did then.

A signal to a process group misses who left the group. Stopping everyone by hand can be
outrun by who forks faster, so what counts in the end is the processor time that the family
used while it should have used none: the kernel keeps that, also of children long gone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_STOPPED = {"T", "t", "Z", "X"}
_MOST_SWEEPS = 20
# Counted by ticks of 10 ms, and a signal takes its time to arrive.
_FORGIVEN_S = 0.1
# Processors that a family may keep busy while it waits. Stopped, it should use none. While it
# is not (on CUDA between the rounds that count), honest sides do: the compiler of torch.compile
# keeps one busy after a compiled baseline's first calls.
FORGIVEN_WHILE_STOPPED = 0.1
FORGIVEN_WHILE_RUNNING = 2.0


def members(first: int, user: int | None) -> set[int]:
    """Process `first` and all that descend from it; with `user`, also all of that user."""
    found: set[int] = set()
    waiting = [first]
    while waiting:
        pid = waiting.pop()
        if pid in found:
            continue
        found.add(pid)
        with contextlib.suppress(OSError):
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                with contextlib.suppress(OSError):
                    waiting += map(int, children.read_text().split())
    return found | (set() if user is None else _of_user(user))


def _of_user(user: int) -> set[int]:
    found = set()
    for entry in os.scandir("/proc"):
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and entry.stat().st_uid == user:
                found.add(int(entry.name))
    return found


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name, from the state on; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def signal_all(pids: set[int], number: int) -> None:
    """Signal each; those that are gone are none's loss."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def stop(first: int, user: int | None) -> None:
    """Stop the whole family; who keeps forking away is left to the count of its work."""
    for _ in range(_MOST_SWEEPS):
        running = {pid for pid in members(first, user) if (_stat(pid) or ["X"])[0] not in _STOPPED}
        if not running:
            return
        signal_all(running, signal.SIGSTOP)


def resume(first: int, user: int | None) -> None:
    """Let the whole family run again."""
    signal_all(members(first, user), signal.SIGCONT)


def processor_s(first: int, user: int | None) -> float:
    """Processor time of the family so far, its dead children's included."""
    ticks = 0
    for pid in members(first, user):
        fields = _stat(pid)
        # utime, stime, cutime and cstime, counted from the state as field 0.
        ticks += sum(map(int, fields[11:15])) if len(fields) > 14 else 0
    return ticks / _TICKS_PER_S


@dataclass
class Idleness:
    """What a family did between its turns. Times in seconds."""

    first: int
    user: int | None
    forgiven_processors: float = FORGIVEN_WHILE_STOPPED
    waited_s: float = 0.0
    worked_s: float = 0.0
    allowed_s: float = _FORGIVEN_S
    _since: tuple[float, float] | None = None

    def begins(self) -> None:
        """Its turn is over."""
        self._since = (time.monotonic(), processor_s(self.first, self.user))

    def ends(self) -> None:
        """Its next turn comes."""
        if self._since is None:
            return
        began, used = self._since
        waited_s = time.monotonic() - began
        self.waited_s += waited_s
        self.allowed_s += self.forgiven_processors * waited_s
        self.worked_s += max(0.0, processor_s(self.first, self.user) - used)
        self._since = None

    @property
    def complaint(self) -> str | None:
        """What to hold against the side; None while it kept still."""
        if self.worked_s <= self.allowed_s:
            return None
        return (
            f"worked while it was not its turn: {self.worked_s:.2f} s of processor time in "
            f"{self.waited_s:.2f} s of waiting"
        )
