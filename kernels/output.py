"""End a command quietly when its output is no longer read: `python -m kernels claims | head`."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# A shell reports this status for a program that a closed pipe ended.
STDOUT_CLOSED = 128 + signal.SIGPIPE


@contextmanager
def exit_when_stdout_closes() -> Iterator[None]:
    """Exit with STDOUT_CLOSED and without a traceback if standard output's reader has closed it.

    Restoring SIGPIPE's default would be shorter, but would kill a referee whose side closes its
    pipe. That is a finding, so any other BrokenPipeError is raised as usual.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        if not _is_stdout_closed():
            raise
        # Python flushes once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(STDOUT_CLOSED)


def _is_stdout_closed() -> bool:
    poller = select.poll()
    poller.register(sys.stdout.fileno(), 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in poller.poll(0))
