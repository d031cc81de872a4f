"""All processes of one side: held still while it is not its turn, and the work they did then.

A signal to a process group misses who left the group. Stopping everyone by hand can be
outrun by who forks faster, so what counts in the end is the processor time that the family
used while it should have used none: the kernel keeps that, also of children long gone.

And who is stopped can be woken by the kernel: a timer of its own that sends SIGCONT is enough.
A wake-up for less time than a processor's clock counts shows in the thread's context switches:
one that stands still has none.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Of a process this is its first thread's state: one that is gone, or held by a tracer, says
# nothing of the others, and is told to stop once all the same.
_STOPPED, _FIRST_THREAD_ONLY = {"T", "t", "Z", "X"}, {"t", "Z"}
_READ_BYTES = 1 << 16
_MOST_SWEEPS = 20
_SWEEP_S = 0.001
# Counted by ticks of 10 ms, and a signal takes its time to arrive.
_FORGIVEN_S = 0.1
# Processors that a family may keep busy while it waits. Stopped, it should use none, and in ten
# seconds of waiting on a crowded machine used none. While it is not stopped (on CUDA between the
# rounds that count), honest sides do: the compiler of torch.compile keeps one busy after a
# compiled baseline's first calls.
_FORGIVEN_WHILE_STOPPED = 0.02
_FORGIVEN_WHILE_RUNNING = 2.0
_FORGIVEN_WAKES, _FORGIVEN_WAKES_SHARE = 3, 0.02
# A thread is seen stopped an instant before it gives its processor up, which on a busy machine
# can be a while: that is one switch, and a few microseconds of work.
_FORGIVEN_SWITCHES, _FORGIVEN_RUN_NS = 1, 1_000_000
# One that does not stand yet when it is first looked at stops late, within a few switches, or was
# woken before the look: on a host of many threads that takes longer than a timer of 2 ms.
_FORGIVEN_SWITCHES_OF_LATE = 20
# Nor may it compute: a flood of timers keeps a thread from ever standing, and one long stretch of
# work is no switch at all. What it still has to leave in the kernel takes a part of this.
_FORGIVEN_RUN_NS_OF_LATE = 5_000_000


class Standing(NamedTuple):
    """A thread: its context switches so far, and what it ran, where the kernel says so."""

    stopped: bool
    switches: int
    ran_ns: int


Threads = dict[int, Standing | None]


def members(first: int, user: int | None) -> set[int]:
    """Process `first` and all that descend from it; with `user`, also all of that user."""
    found: set[int] = set()
    waiting = [first]
    while waiting:
        pid = waiting.pop()
        if pid in found:
            continue
        found.add(pid)
        for _, children in _of_tasks(pid, "children"):
            waiting += map(int, children.split())
    return found | (set() if user is None else _of_user(user))


def _of_user(user: int) -> set[int]:
    found = set()
    for entry in os.scandir("/proc"):
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and entry.stat().st_uid == user:
                found.add(int(entry.name))
    return found


def _told(file: str) -> bytes:
    """What the kernel says in a file under /proc.

    Read in every turn for each of a side's threads, some seventy on an H200's host: as `Path`
    reads files that was a third of a run's time.
    """
    descriptor = os.open(file, os.O_RDONLY)
    try:
        return b"".join(iter(lambda: os.read(descriptor, _READ_BYTES), b""))
    finally:
        os.close(descriptor)


def _of_tasks(pid: int, name: str) -> Iterator[tuple[str, bytes]]:
    """Every thread's folder under /proc with its file `name`; those that are gone are left out."""
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            folder = f"/proc/{pid}/task/{task}"
            with contextlib.suppress(OSError):
                yield folder, _told(f"{folder}/{name}")


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


def stop(first: int, user: int | None) -> set[int]:
    """Stop the whole family; who they are. Who keeps forking away is left to their work's count."""
    family: set[int] = set()
    told: set[int] = set()
    for sweep in range(_MOST_SWEEPS):
        family = members(first, user)
        states = {pid: (_stat(pid) or ["X"])[0] for pid in family}
        untold = {pid for pid in family - told if states[pid] in _FIRST_THREAD_ONLY}
        running = untold | {pid for pid, state in states.items() if state not in _STOPPED}
        if not running:
            break
        signal_all(running, signal.SIGSTOP)
        told |= running
        if sweep:
            # Who was asleep needs a processor to stop on, and the machine may be busy.
            time.sleep(_SWEEP_S)
    return family


def resume(first: int, user: int | None) -> None:
    """Let the whole family run again."""
    signal_all(members(first, user), signal.SIGCONT)


def processor_s(family: set[int]) -> float:
    """Processor time of a family so far, its dead children's included."""
    ticks = 0
    for pid in family:
        fields = _stat(pid)
        # utime, stime, cutime and cstime, counted from the state as field 0.
        ticks += sum(map(int, fields[11:15])) if len(fields) > 14 else 0
    return ticks / _TICKS_PER_S


def threads(family: set[int]) -> Threads:
    """Every thread of a family, with what it has done so far; None where the kernel is silent."""
    return {
        int(folder.rpartition("/")[2]): _standing(folder, status)
        for pid in family
        for folder, status in _of_tasks(pid, "status")
    }


def _standing(folder: str, status: bytes) -> Standing | None:
    # The two last fields of such a name are the kernel's: a thread's own name comes before them.
    _, *switches = status.rsplit(b"ctxt_switches:", 2)
    if len(switches) < 2:
        return None
    stopped = status.partition(b"\nState:")[2].split(None, 1)[0] in (b"T", b"t")
    ran_ns = 0
    with contextlib.suppress(OSError):
        ran_ns = int(_told(f"{folder}/schedstat").split(None, 1)[0])
    return Standing(stopped, sum(int(counted.split(None, 1)[0]) for counted in switches), ran_ns)


def woke(before: Threads, after: Threads) -> bool:
    """Whether a thread that stood still ran, or one is there that nobody asleep can have made."""
    ran_ns = late_ran_ns = 0
    for thread, stood in before.items():
        stands = after.get(thread)
        if stood is None:
            continue
        switches = 0 if stands is None else stands.switches - stood.switches
        if not stood.stopped:
            late_ran_ns += 0 if stands is None else stands.ran_ns - stood.ran_ns
            if switches > _FORGIVEN_SWITCHES_OF_LATE or late_ran_ns > _FORGIVEN_RUN_NS_OF_LATE:
                return True
            continue
        if stands is None or not stands.stopped or switches > _FORGIVEN_SWITCHES:
            return True
        ran_ns += stands.ran_ns - stood.ran_ns
    everyone_stood = all(stood is not None and stood.stopped for stood in before.values())
    return ran_ns > _FORGIVEN_RUN_NS or (everyone_stood and not after.keys() <= before.keys())


@dataclass
class Idleness:
    """What a family did between its turns, stopped or not. Times in seconds."""

    first: int
    user: int | None
    stopped: bool = True
    waits: int = 0
    wakes: int = 0
    waited_s: float = 0.0
    worked_s: float = 0.0
    allowed_s: float = _FORGIVEN_S
    _since: tuple[float, float] | None = None
    _standing: Threads = field(default_factory=dict)

    def begins(self, family: set[int] | None = None) -> None:
        """Its turn is over; `family` where it is known already who they are."""
        # Looked for once: on a host of many processes that takes its time, in every round.
        if family is None:
            family = members(self.first, self.user)
        self._since = (time.monotonic(), processor_s(family))
        self._standing = threads(family) if self.stopped else {}

    def ends(self) -> set[int]:
        """Its next turn comes; who the family are."""
        family = members(self.first, self.user)
        if self._since is None:
            return family
        began, used = self._since
        self.worked_s += max(0.0, processor_s(family) - used)
        # After the count: finding a family among a host's processes can outlast the wait itself.
        waited_s = time.monotonic() - began
        self.waits += 1
        self.waited_s += waited_s
        forgiven = _FORGIVEN_WHILE_STOPPED if self.stopped else _FORGIVEN_WHILE_RUNNING
        self.allowed_s += forgiven * waited_s
        if self._standing:
            self.wakes += woke(self._standing, threads(family))
        self._since = None
        return family

    @property
    def complaint(self) -> str | None:
        """What to hold against the side; None while it kept still."""
        if self.wakes > _FORGIVEN_WAKES + _FORGIVEN_WAKES_SHARE * self.waits:
            return (
                f"ran in {self.wakes} of the {self.waits} times that it waited for its turn, "
                "stopped as it was"
            )
        if self.worked_s <= self.allowed_s:
            return None
        return (
            f"worked while it was not its turn: {self.worked_s:.2f} s of processor time in "
            f"{self.waited_s:.2f} s of waiting"
        )
