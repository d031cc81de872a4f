"""What a command says ends quietly where nobody reads on: `python -m kernels claims | head`."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# As a shell tells of a program that a closed pipe ended.
NOBODY_READS = 128 + signal.SIGPIPE


@contextmanager
def while_it_is_read() -> Iterator[None]:
    """End with NOBODY_READS, and without a traceback, once nobody reads standard output.

    A signal would do the same in less, and would kill a referee whose side has closed its pipe:
    that is a finding, and stays an error here.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        if not _nobody_reads():
            raise
        # Python flushes once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(NOBODY_READS)


def _nobody_reads() -> bool:
    reader = select.poll()
    reader.register(sys.stdout.fileno(), 0)
    return any(told & (select.POLLERR | select.POLLHUP) for _, told in reader.poll(0))
