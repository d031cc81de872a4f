"""Stop all processes of a side between its turns, and account for the work they did then.

A signal to the process group misses processes that left it, and processes that fork can outrun
signals. So the evidence is the processor time that the processes used while stopped, which the
kernel keeps even for dead children.

A stopped process can wake itself by a timer that sends SIGCONT. A wake-up too short for the
processor-time clock shows in the thread's context switches.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# The state is that of the first thread. If that is dead or traced, the others may still run, so the
# process is signalled once all the same.
_STOPPED, _FIRST_THREAD_ONLY = {"T", "t", "Z", "X"}, {"t", "Z"}
_READ_BYTES = 1 << 16
_MOST_SWEEPS = 20
_SWEEP_S = 0.001
# Processor time has ticks of 10 ms, and a signal takes time to arrive.
_FORGIVEN_S = 0.1
# Processors that a side may keep busy while it waits. Stopped sides used none in ten seconds on a
# crowded machine. Sides that are not stopped (on CUDA between the rounds that count) do honest
# work: torch.compile's compiler keeps one busy after the first calls of a compiled baseline.
_FORGIVEN_WHILE_STOPPED = 0.02
_FORGIVEN_WHILE_RUNNING = 2.0
_FORGIVEN_WAKES, _FORGIVEN_WAKES_SHARE = 3, 0.02
# A thread shows as stopped an instant before it leaves its processor, which on a busy machine can
# take a while: one switch and a few microseconds of work.
_FORGIVEN_SWITCHES, _FORGIVEN_RUN_NS = 1, 1_000_000
# A thread still running at the first look either stops late, within a few switches, or was woken
# before the look, which on a host with many threads takes longer than a 2 ms timer.
_FORGIVEN_SWITCHES_OF_LATE = 20
# It may not compute either: a flood of timers keeps a thread from stopping, and one long stretch of
# work has no switches. Leaving the kernel takes a part of this.
_FORGIVEN_RUN_NS_OF_LATE = 5_000_000


class ThreadState(NamedTuple):
    """A thread's state: whether it is stopped, its context switches and its run time."""

    stopped: bool
    switches: int
    ran_ns: int


Threads = dict[int, ThreadState | None]


def members(first: int, user: int | None) -> set[int]:
    """Process `first` and its descendants, and all processes of `user` if given."""
    found: set[int] = set()
    waiting = [first]
    while waiting:
        pid = waiting.pop()
        if pid in found:
            continue
        found.add(pid)
        for _, children in _task_files(pid, "children"):
            waiting += map(int, children.split())
    return found | (set() if user is None else _pids_of_user(user))


def _pids_of_user(user: int) -> set[int]:
    found = set()
    for entry in os.scandir("/proc"):
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and entry.stat().st_uid == user:
                found.add(int(entry.name))
    return found


def _read(file: str) -> bytes:
    """Read a file under /proc.

    Called in every turn for some seventy threads on an H200's host: reading by `Path` took a third
    of a run's time.
    """
    descriptor = os.open(file, os.O_RDONLY)
    try:
        return b"".join(iter(lambda: os.read(descriptor, _READ_BYTES), b""))
    finally:
        os.close(descriptor)


def _task_files(pid: int, name: str) -> Iterator[tuple[str, bytes]]:
    """The /proc folder of every live thread with its file `name`."""
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            folder = f"/proc/{pid}/task/{task}"
            with contextlib.suppress(OSError):
                yield folder, _read(f"{folder}/{name}")


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; empty for a dead process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def signal_all(pids: set[int], number: int) -> None:
    """Signal each process that still exists."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def stop(first: int, user: int | None) -> set[int]:
    """Stop all processes and return them; those that keep forking show in their processor time."""
    pids: set[int] = set()
    signalled: set[int] = set()
    for sweep in range(_MOST_SWEEPS):
        pids = members(first, user)
        states = {pid: (_stat(pid) or ["X"])[0] for pid in pids}
        unsignalled = {pid for pid in pids - signalled if states[pid] in _FIRST_THREAD_ONLY}
        running = unsignalled | {pid for pid, state in states.items() if state not in _STOPPED}
        if not running:
            break
        signal_all(running, signal.SIGSTOP)
        signalled |= running
        if sweep:
            # A sleeping process needs a processor to stop on.
            time.sleep(_SWEEP_S)
    return pids


def resume(first: int, user: int | None) -> None:
    """Continue all processes."""
    signal_all(members(first, user), signal.SIGCONT)


def processor_s(pids: set[int]) -> float:
    """Processor time of the processes so far, including dead children."""
    ticks = 0
    for pid in pids:
        fields = _stat(pid)
        # utime, stime, cutime and cstime, counted from the state as field 0.
        ticks += sum(map(int, fields[11:15])) if len(fields) > 14 else 0
    return ticks / _TICKS_PER_S


def dead_children_s(pids: set[int]) -> float:
    """Processor time of the processes' dead children so far."""
    stats = [fields for fields in map(_stat, pids) if len(fields) > 14]
    return sum(int(ticks) for fields in stats for ticks in fields[13:15]) / _TICKS_PER_S


def run_times_ns(pids: set[int]) -> Iterator[tuple[int, int]]:
    """Every live thread's id and what it ran so far."""
    for pid in pids:
        for folder, counted in _task_files(pid, "schedstat"):
            yield int(folder.rpartition("/")[2]), int(counted.split(None, 1)[0])


def threads(pids: set[int]) -> Threads:
    """Every thread's state; None where the kernel does not report it."""
    return {
        int(folder.rpartition("/")[2]): _thread_state(folder, status)
        for pid in pids
        for folder, status in _task_files(pid, "status")
    }


def _thread_state(folder: str, status: bytes) -> ThreadState | None:
    # Search from the end: a thread's own name comes before the kernel's fields.
    _, *switches = status.rsplit(b"ctxt_switches:", 2)
    if len(switches) < 2:
        return None
    stopped = status.partition(b"\nState:")[2].split(None, 1)[0] in (b"T", b"t")
    ran_ns = 0
    with contextlib.suppress(OSError):
        ran_ns = int(_read(f"{folder}/schedstat").split(None, 1)[0])
    return ThreadState(stopped, sum(int(counted.split(None, 1)[0]) for counted in switches), ran_ns)


def woke(before: Threads, after: Threads) -> bool:
    """Whether a stopped thread ran, or a thread appeared that no stopped one can have started."""
    ran_ns = late_ran_ns = 0
    for thread, earlier in before.items():
        later = after.get(thread)
        if earlier is None:
            continue
        switches = 0 if later is None else later.switches - earlier.switches
        if not earlier.stopped:
            late_ran_ns += 0 if later is None else later.ran_ns - earlier.ran_ns
            if switches > _FORGIVEN_SWITCHES_OF_LATE or late_ran_ns > _FORGIVEN_RUN_NS_OF_LATE:
                return True
            continue
        if later is None or not later.stopped or switches > _FORGIVEN_SWITCHES:
            return True
        ran_ns += later.ran_ns - earlier.ran_ns
    all_stopped = all(earlier is not None and earlier.stopped for earlier in before.values())
    return ran_ns > _FORGIVEN_RUN_NS or (all_stopped and not after.keys() <= before.keys())


@dataclass
class Idleness:
    """The work of a side between its turns. Times are in seconds.

    `ranks` are its processes with threads of their own, any of which may stop late.
    """

    first: int
    user: int | None
    stopped: bool = True
    ranks: int = 1
    waits: int = 0
    wakes: int = 0
    waited_s: float = 0.0
    worked_s: float = 0.0
    allowed_s: float = _FORGIVEN_S
    _since: tuple[float, float] | None = None
    _states: Threads = field(default_factory=dict)

    def begins(self, pids: set[int] | None = None) -> None:
        """Start of a wait; `pids` saves a search where the processes are known."""
        # One search per round: it is slow on a host of many processes.
        if pids is None:
            pids = members(self.first, self.user)
        self._since = (time.monotonic(), processor_s(pids))
        self._states = threads(pids) if self.stopped else {}

    def ends(self) -> set[int]:
        """End of a wait; returns the processes."""
        pids = members(self.first, self.user)
        if self._since is None:
            return pids
        began, used = self._since
        self.worked_s += max(0.0, processor_s(pids) - used)
        # Read after the accounting, because searching a host's processes can outlast the wait.
        waited_s = time.monotonic() - began
        self.waits += 1
        self.waited_s += waited_s
        forgiven = _FORGIVEN_WHILE_STOPPED if self.stopped else _FORGIVEN_WHILE_RUNNING
        self.allowed_s += forgiven * waited_s
        if self._states:
            self.wakes += woke(self._states, threads(pids))
        self._since = None
        return pids

    @property
    def violation(self) -> str | None:
        """How the side broke the rule; None if it did not."""
        forgiven = _FORGIVEN_WAKES + _FORGIVEN_WAKES_SHARE * self.waits
        if self.wakes > self.ranks * forgiven:
            return f"ran in {self.wakes} of the {self.waits} waits during which it was stopped"
        if self.worked_s <= self.allowed_s:
            return None
        return (
            f"worked between its turns: {self.worked_s:.2f} s of processor time in "
            f"{self.waited_s:.2f} s of waiting"
        )
