"""Supervise one claimed run: start the referee, enforce limits, conclude the run."""

import logging
import time

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, close_old_connections

from benchmarks.errors import BenchmarkError, RecordRejected, StaleAttempt
from benchmarks.limits import limits
from benchmarks.measuring import outcomes, stopping
from benchmarks.measuring.job_watching import JobWatch
from benchmarks.measuring.measurements import Measurement, MeasurementWatch
from benchmarks.measuring.watching import LeaseLost, WorkerStopping, own_folder
from benchmarks.models import Run
from benchmarks.services import captured_files, leases, runs

logger = logging.getLogger(__name__)


def measure(run: Run, *, device_locks: tuple[int, ...]) -> str:
    """Measure a claimed run and conclude it; return the outcome for the log.

    "finished", "failed: CODE", "lost" (another attempt has claimed it) or "requeued".
    """
    printed = ""
    try:
        with own_folder() as made:
            watch = RunWatch(run, folder=made, device_locks=device_locks)
            try:
                content = watch.wait()
            finally:
                # Without the event, the referee itself failed.
                printed = watch.progress.failure_log or watch.stderr.decode("utf-8", "replace")
        _store_record(run, content)
    except outcomes.Failed as failure:
        failed = runs.fail(
            run_id=run.pk,
            attempt=run.attempt,
            code=failure.failure,
            reason=failure.message,
            log=printed,
        )
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


class RunWatch(JobWatch, MeasurementWatch):
    """One attempt at a run by a worker of this site."""

    job: Run

    def measurement(self) -> Measurement:
        run = self.job
        try:
            captured = captured_files.of(run.benchmark.document)
        except BenchmarkError as error:
            raise outcomes.Failed(error.message, code=error.code) from error
        return Measurement(
            benchmark=bytes(run.benchmark.canonical),
            filename=run.solution.filename,
            source=run.solution.source.encode(),
            nonces=run.nonces,
            required_isolation=settings.TWOFOLD_REQUIRED_ISOLATION,
            captured=captured,
        )

    def store(self) -> bool:
        return runs.report_progress(
            run_id=self.job.pk, attempt=self.job.attempt, progress=self.progress.as_data()
        )
