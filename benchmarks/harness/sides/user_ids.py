"""Reserve user ids for the two sides of a run on this machine.

Sides are stopped, accounted and killed by their user, so two runs must not share one. It is not
enough that no process has the user now, because sides end with each replicate. So the run binds a
socket per user in Linux's abstract namespace, which the kernel frees when the process ends.
"""

import contextlib
import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.harness.failures import SetupError

# systemd reserves these for dynamic users; they own no files.
_FIRST_USER, _LAST_USER = 61184, 65518
_NAME = "twofold.user"
_RANDOM = random.SystemRandom()


@contextmanager
def reserved() -> Iterator[int]:
    """Reserve two consecutive user ids and yield the first.

    Raises SetupError when all are taken.
    """
    taken = _with_processes()
    firsts = range(_FIRST_USER, _LAST_USER)
    with ExitStack() as stack:
        for first in _RANDOM.sample(firsts, len(firsts)):
            pair = {first, first + 1}
            if not pair & taken and _bound(pair, stack):
                yield first
                return
        raise SetupError(f"all user ids from {_FIRST_USER} to {_LAST_USER} are taken")


def _bound(users: set[int], stack: ExitStack) -> bool:
    """Bind the sockets of these users until `stack` closes; False if one is taken."""
    with ExitStack() as taking:
        for user in sorted(users):
            name = taking.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            try:
                name.bind(f"\0{_NAME}.{user}")
            except OSError:
                return False
        stack.push(taking.pop_all())
    return True


def _with_processes() -> set[int]:
    """Users with processes, as of runs in another network namespace."""
    found = set()
    for entry in Path("/proc").iterdir():
        # A process may end during the search.
        with contextlib.suppress(OSError):
            if entry.name.isdigit():
                found.add(entry.stat().st_uid)
    return found
