"""Whether this worker is shutting down, visible in the process that measures."""

import mmap
from typing import Any

from celery.signals import worker_init, worker_shutting_down

# Celery signals the main process, and a forked child measures: one shared page between them.
_flag = mmap.mmap(-1, 1)


def is_requested() -> bool:
    """Whether this worker is shutting down."""
    return _flag[0] != 0


@worker_shutting_down.connect(dispatch_uid="benchmarks.stop")
def _set_flag(**_: Any) -> None:
    _flag[0] = 1


@worker_init.connect(dispatch_uid="benchmarks.start")
def _clear_flag(**_: Any) -> None:
    _flag[0] = 0
