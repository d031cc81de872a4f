"""Whether this worker was told to stop, known in the process that measures too."""

import mmap
from typing import Any

from celery.signals import worker_init, worker_shutting_down

# Celery tells the worker's main process; the run is measured in a child of it. One page of
# shared memory, made before the fork, is all that has to pass between them.
_flag = mmap.mmap(-1, 1)


def told_to_stop() -> bool:
    """Whether this worker is shutting down."""
    return _flag[0] != 0


@worker_shutting_down.connect(dispatch_uid="benchmarks.stop")
def _raise_flag(**_: Any) -> None:
    _flag[0] = 1


@worker_init.connect(dispatch_uid="benchmarks.start")
def _lower_flag(**_: Any) -> None:
    _flag[0] = 0
