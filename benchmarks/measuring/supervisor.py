"""Supervise one claimed run: start the referee, enforce limits, conclude the run."""

import logging
import time
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, close_old_connections

from benchmarks.errors import RecordRejected, StaleAttempt
from benchmarks.limits import limits
from benchmarks.measuring import outcomes, stopping
from benchmarks.measuring.progress import Progress
from benchmarks.measuring.watching import LeaseLost, Watch, WorkerStopping, own_folder
from benchmarks.models import Run
from benchmarks.services import leases, runs

logger = logging.getLogger(__name__)


def measure(run: Run, *, device_locks: tuple[int, ...]) -> str:
    """Measure a claimed run and conclude it; return the outcome for the log.

    "finished", "failed: CODE", "lost" (another attempt has claimed it) or "requeued".
    """
    try:
        with own_folder() as made:
            content = RunWatch(run, folder=made, device_locks=device_locks).wait()
        _store_record(run, content)
    except outcomes.Failed as failure:
        failed = runs.fail(run_id=run.pk, attempt=run.attempt, reason=failure.message)
        return f"failed: {failure.code}" if failed else "lost"
    except RecordRejected as rejected:
        return f"failed: {rejected.code}"
    except WorkerStopping:
        requeued = leases.requeue(Run, run.pk, run.attempt)
        return "requeued" if requeued else "lost"
    except (LeaseLost, StaleAttempt):
        return "lost"
    return "finished"


def _store_record(run: Run, content: bytes) -> None:
    """Conclude the run with its record, retrying storage and database for one lease.

    Raises outcomes.Failed when storage keeps failing, else the last error.
    """
    within = limits()
    deadline = time.monotonic() + within.lease_s
    while True:
        try:
            runs.finish(run_id=run.pk, attempt=run.attempt, record_bytes=content)
            return
        except (OperationalError, InterfaceError, OSError) as error:
            logger.warning("run %s: its record is not stored yet: %s", run.pk, error)
            if stopping.is_requested():
                raise WorkerStopping from error
            if time.monotonic() >= deadline and isinstance(error, OSError):
                raise outcomes.not_stored(error) from error
            if time.monotonic() >= deadline:
                raise
        time.sleep(min(within.beat_s, within.lease_s / 2))
        _heartbeat_between_tries(run)


def _heartbeat_between_tries(run: Run) -> None:
    try:
        extended = leases.heartbeat(Run, run.pk, run.attempt)
    except (DatabaseError, InterfaceError):
        close_old_connections()
        return
    if not extended:
        raise LeaseLost


class RunWatch(Watch):
    """One attempt at a run, from its files to the bytes of a record."""

    def __init__(self, run: Run, *, folder: Path, device_locks: tuple[int, ...]) -> None:
        super().__init__(run, folder=folder, device_locks=device_locks)
        self.run = run
        self.progress = Progress()

    def wait(self) -> bytes:
        """Wait for the record's bytes. Raises outcomes.Failed, LeaseLost or WorkerStopping."""
        record = self.folder / "record.json"
        status = self.supervise(self._arguments(record))
        return outcomes.record_of(
            status=status, record=record, stderr=self.stderr, message=self.progress.failure
        )

    def read(self, line: bytes, *, at_s: float) -> bool:
        return self.progress.read(line, at_s=at_s)

    def store(self) -> bool:
        return runs.report_progress(
            run_id=self.run.pk, attempt=self.run.attempt, progress=self.progress.as_data()
        )

    @property
    def ignored_lines(self) -> int:
        return self.progress.ignored_lines

    def _arguments(self, record: Path) -> list[str]:
        benchmark = self.folder / "benchmark.json"
        benchmark.write_bytes(bytes(self.run.benchmark.canonical))
        # In a folder of its own, because its name could shadow a module.
        solution = self.folder / "candidate" / self.run.solution.filename
        solution.parent.mkdir()
        solution.write_bytes(self.run.solution.source.encode())
        arguments = ["run", str(benchmark), str(solution), "--out", str(record), "--progress"]
        arguments += ["--nonce", f"site={self.run.nonce}"]
        if self.run.customer_nonce:
            arguments += ["--nonce", f"customer={self.run.customer_nonce}"]
        required = ",".join(settings.TWOFOLD_REQUIRED_ISOLATION)
        return [*arguments, "--require-isolation", required] if required else arguments
