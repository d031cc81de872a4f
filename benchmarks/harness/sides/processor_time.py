"""Count the processor time that a side uses in rounds beyond its sealed threads.

A side may start more threads than sealed, within a call and unseen afterwards. What
they compute shows in the processor time that the kernel counts by thread. A round's length says
little: on a busy machine threads wait for processors, and more of them get a larger share.
"""

import time
from dataclasses import dataclass
from typing import Self

from benchmarks.harness.sides import process_trees

# Honest sides have 2% in other threads, which look for work and find none.
_ALLOWED_SHARE, _FORGIVEN_S = 0.15, 0.02
# Linux's clock of all threads of a process: the complement of its id, and what it counts.
_ID_BITS, _SCHEDULED = 3, 2


@dataclass(frozen=True)
class Used:
    """Processor time so far: in all, dead threads and children included, and by live thread."""

    total_s: float
    threads_s: dict[int, float]

    @classmethod
    def by(cls, pids: set[int]) -> Self:
        """What these processes used so far."""
        return cls(
            sum(map(_process_s, pids)) + process_trees.dead_children_s(pids),
            {thread: ran_ns / 1e9 for thread, ran_ns in process_trees.run_times_ns(pids)},
        )


@dataclass
class RoundTime:
    """Processor time of a side's rounds so far, in seconds: in all, and beyond its threads."""

    threads: int
    used_s: float = 0.0
    beyond_s: float = 0.0

    def add(self, before: Used, after: Used) -> None:
        """Count one round."""
        used_s = after.total_s - before.total_s
        earlier = before.threads_s
        threads_s = [ran_s - earlier.get(each, 0.0) for each, ran_s in after.threads_s.items()]
        busiest_s = sum(sorted(threads_s, reverse=True)[: self.threads])
        self.used_s += used_s
        self.beyond_s += max(0.0, used_s - busiest_s)

    @property
    def violation(self) -> str | None:
        """How the side used more threads than sealed; None if it did not."""
        if self.beyond_s <= _ALLOWED_SHARE * self.used_s + _FORGIVEN_S:
            return None
        return (
            f"computed on more than {self.threads} thread{'s' if self.threads > 1 else ''}: "
            f"{self.beyond_s:.2f} of {self.used_s:.2f} s of processor time were on others"
        )


def _process_s(pid: int) -> float:
    try:
        return time.clock_gettime(~pid << _ID_BITS | _SCHEDULED)
    except OSError:
        return 0.0
