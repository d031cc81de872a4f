"""Watch the process of a job that a worker of this site claimed."""

from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections

from benchmarks.jobs import Job
from benchmarks.limits import limits
from benchmarks.measuring import stopping
from benchmarks.measuring.harness import COMMAND
from benchmarks.measuring.watching import Watch
from benchmarks.services import leases


class JobWatch(Watch):
    """A watch with a row of the database. `settings.TWOFOLD_HARNESS_COMMAND` replaces the referee.

    The database may be restarting: it is tried again until the lease expires.
    """

    unreachable = (DatabaseError, InterfaceError)

    def __init__(self, job: Job, *, folder: Path, device_locks: tuple[int, ...]) -> None:
        super().__init__(
            job,
            folder=folder,
            device_locks=device_locks,
            limits=limits(),
            command=getattr(settings, "TWOFOLD_HARNESS_COMMAND", COMMAND),
        )
        self.job = job

    def extend(self) -> bool:
        return leases.heartbeat(type(self.job), self.job.pk, self.job.attempt)

    def is_stopping(self) -> bool:
        return stopping.is_requested()

    def reconnect(self) -> None:
        close_old_connections()
