"""The users of a run's two sides: nobody else's on this machine while the run lasts.

Sides are stopped, counted and ended by their user, so two runs with a user in common would
stop, convict and kill each other's sides. That no process has a user now is not enough: a run's
sides end with each replicate, and the next ones start under the same user. Sockets in Linux's
abstract namespace say who is taken: the kernel lets one process bind a name, and frees it when
that process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.harness.failures import SetupError

# Kept free by systemd for users that exist while a service runs; nobody's files are theirs.
_FIRST_USER, _LAST_USER = 61184, 65518
_NAME = "twofold.user"
_RANDOM = random.SystemRandom()


@contextmanager
def reserved() -> Iterator[int]:
    """The first of two neighbouring user ids, for as long as the context lasts.

    Raises SetupError when others have them all.
    """
    taken = _with_processes()
    firsts = range(_FIRST_USER, _LAST_USER)
    with ExitStack() as stack:
        for first in _RANDOM.sample(firsts, len(firsts)):
            pair = {first, first + 1}
            if not pair & taken and _bound(pair, stack):
                yield first
                return
        raise SetupError(f"users {_FIRST_USER} to {_LAST_USER} are all taken: no side can start")


def _bound(users: set[int], stack: ExitStack) -> bool:
    """Take the name of each user until `stack` closes; False where another has one of them."""
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
    """Users of whoever does not ask here, or cannot be heard: in another network namespace."""
    found = set()
    for entry in Path("/proc").iterdir():
        # Processes end while they are counted.
        with contextlib.suppress(OSError):
            if entry.name.isdigit():
                found.add(entry.stat().st_uid)
    return found
