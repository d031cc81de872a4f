"""Measures one claimed run: starts the harness, watches it, and says what came of it."""

import logging
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, close_old_connections

from benchmarks.errors import AttemptOver, RecordRefused
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
    """Another attempt has the run: nothing more may be said about it."""


class WorkerStopping(Exception):
    """The worker was told to stop: the run goes back to the queue."""


def measure(run: Run, *, device_lock: int) -> str:
    """Measure a claimed run and conclude it; what came of it, in a word for the log.

    "finished", "failed", "lost" (another attempt has it) or "given back".
    """
    try:
        with _own_folder() as made:
            # A side has a user of its own and reaches its scratch folder through this one; it
            # may pass, and list nothing.
            made.chmod(0o711)
            content = Watch(run, folder=made, device_lock=device_lock).to_the_end()
        _hand_in(run, content)
    except outcomes.Failed as failure:
        failed = runs.fail(run_id=run.pk, attempt=run.attempt, reason=str(failure))
        return "failed" if failed else "lost"
    except RecordRefused:
        return "failed"
    except WorkerStopping:
        given = runs.give_back(run_id=run.pk, attempt=run.attempt)
        return "given back" if given else "lost"
    except (LeaseLost, AttemptOver):
        return "lost"
    return "finished"


@contextmanager
def _own_folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="twofold-run-"))
    try:
        yield made
    finally:
        watchdog.remove(str(made))


def _hand_in(run: Run, content: bytes) -> None:
    """Conclude the run with its record, which took long to measure: again for one lease's time.

    Raises outcomes.Failed when storage does not take it, else as the last try did.
    """
    patience = limits()
    deadline = time.monotonic() + patience.lease_s
    while True:
        try:
            runs.finish(run_id=run.pk, attempt=run.attempt, record_bytes=content)
            return
        except (OperationalError, InterfaceError, OSError) as error:
            logger.warning("run %s: its record is not stored yet: %s", run.pk, error)
            if stopping.told_to_stop():
                raise WorkerStopping from error
            if time.monotonic() >= deadline and isinstance(error, OSError):
                raise outcomes.not_stored(error) from error
            if time.monotonic() >= deadline:
                raise
        time.sleep(min(patience.beat_s, patience.lease_s / 2))
        _beat_between_tries(run)


def _beat_between_tries(run: Run) -> None:
    try:
        kept = runs.heartbeat(run_id=run.pk, attempt=run.attempt)
    except (DatabaseError, InterfaceError):
        close_old_connections()
        return
    if not kept:
        raise LeaseLost


class Watch:
    """One attempt at one run, from files to bytes of a record."""

    def __init__(self, run: Run, *, folder: Path, device_lock: int) -> None:
        self.run = run
        self.folder = folder
        self.device_lock = device_lock
        self.progress = Progress()
        self.limits = limits()
        self.started = self.last_beat = self.last_kept = self.last_event = time.monotonic()
        self.last_stored = 0.0
        self.unsaid = False

    def to_the_end(self) -> bytes:
        """The record's bytes. Raises outcomes.Failed, LeaseLost or WorkerStopping."""
        record = self.folder / "record.json"
        with Harness(
            self._arguments(record), folder=self.folder, keep_open=self.device_lock
        ) as harness:
            while harness.status() is None:
                self._listen(harness)
                self._keep_the_lease()
                self._mind_the_limits(harness)
                self._tell_the_page()
            self._listen(harness)
            status = harness.status()
        self._tell_the_page(at_once=True)
        self._log(harness, status)
        return outcomes.record_of(
            status=status or 0, record=record, stderr=harness.stderr, said=self.progress.failure
        )

    def _arguments(self, record: Path) -> list[str]:
        benchmark = self.folder / "benchmark.json"
        benchmark.write_bytes(bytes(self.run.benchmark.canonical))
        # A folder of its own: beside other modules the file's name could shadow one.
        solution = self.folder / "candidate" / self.run.solution.filename
        solution.parent.mkdir()
        solution.write_bytes(self.run.solution.source.encode())
        arguments = ["run", str(benchmark), str(solution), "--out", str(record), "--progress"]
        required = ",".join(settings.TWOFOLD_REQUIRED_ISOLATION)
        return [*arguments, "--require-isolation", required] if required else arguments

    def _listen(self, harness: Harness) -> None:
        for line in harness.lines(POLL_S):
            now = time.monotonic()
            if self.progress.read(line, at_s=now - self.started):
                self.last_event = now
                self.unsaid = True

    def _keep_the_lease(self) -> None:
        now = time.monotonic()
        if now - self.last_beat < self.limits.beat_s:
            return
        self.last_beat = now
        try:
            kept = runs.heartbeat(run_id=self.run.pk, attempt=self.run.attempt)
        except (DatabaseError, InterfaceError) as error:
            # The database may be restarting; the lease says for how long that can wait.
            logger.warning("run %s: no heartbeat: %s", self.run.pk, error)
            close_old_connections()
            kept = now - self.last_kept < self.limits.lease_s
        else:
            self.last_kept = now
        if not kept:
            raise LeaseLost

    def _mind_the_limits(self, harness: Harness) -> None:
        now = time.monotonic()
        if stopping.told_to_stop():
            raise WorkerStopping
        if harness.said_bytes > self.limits.output_bytes:
            raise outcomes.too_talkative(self.limits.output_bytes)
        if now - self.started > self.limits.run_s:
            raise outcomes.too_long(self.limits.run_s)
        if now - self.last_event > self.limits.silence_s:
            raise outcomes.too_quiet(self.limits.silence_s)

    def _tell_the_page(self, *, at_once: bool = False) -> None:
        now = time.monotonic()
        due = at_once or now - self.last_stored >= self.limits.progress_every_s
        if not (self.unsaid and due):
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
        self.unsaid = False
        if not current:
            raise LeaseLost

    def _log(self, harness: Harness, status: int | None) -> None:
        rubbish = self.progress.rubbish + harness.cut_lines
        if rubbish:
            logger.warning("run %s: %s lines were no progress", self.run.pk, rubbish)
        if status:
            # The reason on the page is one line of this; whoever looks after workers needs all.
            said = readable(harness.stderr.decode("utf-8", "replace"), longest=STDERR_KEPT_BYTES)
            logger.warning("run %s: the harness ended with %s: %s", self.run.pk, status, said)
