"""Supervise one claimed run: start the referee, enforce limits, conclude the run."""

import logging
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, close_old_connections

from benchmarks.errors import RecordRejected, StaleAttempt
from benchmarks.limits import limits
from benchmarks.measuring import outcomes, stopping, watchdog
from benchmarks.measuring.harness import STDERR_KEPT_BYTES, Harness
from benchmarks.measuring.progress import Progress
from benchmarks.models import Run
from benchmarks.services import runs
from benchmarks.text import readable

logger = logging.getLogger(__name__)
POLL_S = 0.2


class LeaseLost(Exception):
    """Another attempt has claimed the run."""


class WorkerStopping(Exception):
    """The worker is shutting down; the run returns to the queue."""


def measure(run: Run, *, device_lock: int) -> str:
    """Measure a claimed run and conclude it; return the outcome for the log.

    "finished", "failed: CODE", "lost" (another attempt has claimed it) or "requeued".
    """
    try:
        with _own_folder() as made:
            # A side runs as another user and passes through to its scratch folder.
            made.chmod(0o711)
            content = Watch(run, folder=made, device_lock=device_lock).wait()
        _store_record(run, content)
    except outcomes.Failed as failure:
        failed = runs.fail(run_id=run.pk, attempt=run.attempt, reason=failure.message)
        return f"failed: {failure.code}" if failed else "lost"
    except RecordRejected as rejected:
        return f"failed: {rejected.code}"
    except WorkerStopping:
        requeued = runs.requeue(run_id=run.pk, attempt=run.attempt)
        return "requeued" if requeued else "lost"
    except (LeaseLost, StaleAttempt):
        return "lost"
    return "finished"


@contextmanager
def _own_folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="twofold-run-"))
    try:
        yield made
    finally:
        watchdog.remove(str(made))


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
        extended = runs.heartbeat(run_id=run.pk, attempt=run.attempt)
    except (DatabaseError, InterfaceError):
        close_old_connections()
        return
    if not extended:
        raise LeaseLost


class Watch:
    """One attempt at a run, from its files to the bytes of a record."""

    def __init__(self, run: Run, *, folder: Path, device_lock: int) -> None:
        self.run = run
        self.folder = folder
        self.device_lock = device_lock
        self.progress = Progress()
        self.limits = limits()
        self.started = self.last_beat = self.last_extended = self.last_event = time.monotonic()
        self.last_stored = 0.0
        self.unstored = False

    def wait(self) -> bytes:
        """Wait for the record's bytes. Raises outcomes.Failed, LeaseLost or WorkerStopping."""
        record = self.folder / "record.json"
        with Harness(
            self._arguments(record), folder=self.folder, keep_open=self.device_lock
        ) as harness:
            while harness.status() is None:
                self._read_events(harness)
                self._extend_lease()
                self._enforce_limits(harness)
                self._store_progress()
            self._read_events(harness)
            status = harness.status()
        self._store_progress(immediately=True)
        self._log(harness, status)
        return outcomes.record_of(
            status=status or 0, record=record, stderr=harness.stderr, message=self.progress.failure
        )

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

    def _read_events(self, harness: Harness) -> None:
        for line in harness.lines(POLL_S):
            now = time.monotonic()
            if self.progress.read(line, at_s=now - self.started):
                self.last_event = now
                self.unstored = True

    def _extend_lease(self) -> None:
        now = time.monotonic()
        if now - self.last_beat < self.limits.beat_s:
            return
        self.last_beat = now
        try:
            extended = runs.heartbeat(run_id=self.run.pk, attempt=self.run.attempt)
        except (DatabaseError, InterfaceError) as error:
            # The database may be restarting; retry until the lease expires.
            logger.warning("run %s: no heartbeat: %s", self.run.pk, error)
            close_old_connections()
            extended = now - self.last_extended < self.limits.lease_s
        else:
            self.last_extended = now
        if not extended:
            raise LeaseLost

    def _enforce_limits(self, harness: Harness) -> None:
        now = time.monotonic()
        if stopping.is_requested():
            raise WorkerStopping
        if harness.output_bytes > self.limits.output_bytes:
            raise outcomes.too_much_output(self.limits.output_bytes)
        if now - self.started > self.limits.run_s:
            raise outcomes.too_long(self.limits.run_s)
        if now - self.last_event > self.limits.silence_s:
            raise outcomes.too_quiet(self.limits.silence_s)

    def _store_progress(self, *, immediately: bool = False) -> None:
        now = time.monotonic()
        due = immediately or now - self.last_stored >= self.limits.progress_every_s
        if not (self.unstored and due):
            return
        self.last_stored = now
        try:
            current = runs.report_progress(
                run_id=self.run.pk, attempt=self.run.attempt, progress=self.progress.as_data()
            )
        except (DatabaseError, InterfaceError) as error:
            logger.warning("run %s: progress was not stored: %s", self.run.pk, error)
            close_old_connections()
            return
        self.unstored = False
        if not current:
            raise LeaseLost

    def _log(self, harness: Harness, status: int | None) -> None:
        ignored = self.progress.ignored_lines + harness.cut_lines
        if ignored:
            logger.warning("run %s: ignored %s lines of output", self.run.pk, ignored)
        if status:
            # The page shows one line of this; operators need all of it.
            said = readable(harness.stderr.decode("utf-8", "replace"), longest=STDERR_KEPT_BYTES)
            logger.warning("run %s: the harness ended with %s: %s", self.run.pk, status, said)
