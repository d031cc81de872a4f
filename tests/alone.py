"""Tests that time something run while no other test does, also under `pytest -n`.

A test marked `alone` waits until those of the other processes have ended and keeps the next ones
waiting; so the suite uses every processor, and its timed claims still have them to themselves.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

# Two files that are there anyway. Whoever waits for all others to end stands in the gate, so that
# no new test gets ahead of it.
FLOOR = Path(__file__)
GATE = FLOOR.with_name("conftest.py")


@contextmanager
def _held(path: Path, how: int) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        # Said, because a process that a test forked and left has this descriptor too.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Fixtures of every scope are made inside, since some of them measure."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return (yield)
    alone = item.get_closest_marker("alone") is not None
    with ExitStack() as stack:
        with _held(GATE, fcntl.LOCK_EX):
            stack.enter_context(_held(FLOOR, fcntl.LOCK_EX if alone else fcntl.LOCK_SH))
        return (yield)
