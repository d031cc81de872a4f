"""Watch the measuring process of a job: extend its lease, enforce limits, store its progress."""

import logging
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from benchmarks.measuring import outcomes, watchdog
from benchmarks.measuring.harness import COMMAND, STDERR_KEPT_BYTES, Harness
from benchmarks.measuring.limits import Limits
from benchmarks.text import readable

logger = logging.getLogger(__name__)
POLL_S = 0.2


class LeaseLost(Exception):
    """Another attempt has claimed the job, or it was cancelled."""


class WorkerStopping(Exception):
    """The worker is shutting down; the job returns to the queue."""


@contextmanager
def own_folder() -> Iterator[Path]:
    """A folder of one attempt, removed with all that is in it."""
    made = Path(tempfile.mkdtemp(prefix="twofold-run-"))
    # A side runs as another user and passes through to its scratch folder.
    made.chmod(0o711)
    try:
        yield made
    finally:
        watchdog.remove(str(made))


class Watch(ABC):
    """One attempt at a job, while its process runs.

    `unreachable` are the errors of `extend` and `store` that may pass. They are retried for
    `patience_s` since the lease was extended last.
    """

    unreachable: ClassVar[tuple[type[Exception], ...]]

    def __init__(
        self,
        name: object,
        *,
        folder: Path,
        device_locks: tuple[int, ...],
        limits: Limits,
        command: Sequence[str] = COMMAND,
        patience_s: float | None = None,
    ) -> None:
        self.name = name
        self.folder = folder
        self.device_locks = device_locks
        self.limits = limits
        self.command = command
        self.patience_s = limits.lease_s if patience_s is None else patience_s
        self.started = self.last_beat = self.last_extended = self.last_event = time.monotonic()
        self.last_stored = 0.0
        self.unstored = False
        self.stderr = b""

    @abstractmethod
    def read(self, line: bytes, *, at_s: float) -> bool:
        """Read a line of the process, `at_s` seconds after the start; True for an event."""

    @abstractmethod
    def store(self) -> bool:
        """Store the progress; False when the attempt is stale."""

    @abstractmethod
    def extend(self) -> bool:
        """Extend the lease; False when the attempt is stale."""

    @abstractmethod
    def is_stopping(self) -> bool:
        """Whether the worker is shutting down."""

    @abstractmethod
    def reconnect(self) -> None:
        """Prepare for another try after one of the errors of `unreachable`."""

    @property
    @abstractmethod
    def ignored_lines(self) -> int:
        """Lines that were no events."""

    def supervise(self, arguments: list[str]) -> int:
        """Run the referee and return its exit status.

        Raises outcomes.Failed, LeaseLost or WorkerStopping.
        """
        with Harness(
            arguments,
            folder=self.folder,
            keep_open=self.device_locks,
            limits=self.limits,
            command=self.command,
        ) as harness:
            try:
                while harness.status() is None:
                    self._read_events(harness)
                    self._extend_lease()
                    self._enforce_limits(harness)
                    self._store_progress()
                self._read_events(harness)
            finally:
                self.stderr = harness.stderr
            status = harness.status()
        self._store_progress(immediately=True)
        self._log(harness, status)
        return status or 0

    def _read_events(self, harness: Harness) -> None:
        for line in harness.lines(POLL_S):
            now = time.monotonic()
            if self.read(line, at_s=now - self.started):
                self.last_event = now
                self.unstored = True

    def _extend_lease(self) -> None:
        now = time.monotonic()
        if now - self.last_beat < self.limits.beat_s:
            return
        self.last_beat = now
        try:
            extended = self.extend()
        except self.unreachable as error:
            logger.warning("%s: no heartbeat: %s", self.name, error)
            self.reconnect()
            extended = now - self.last_extended < self.patience_s
        else:
            self.last_extended = now
        if not extended:
            raise LeaseLost

    def _enforce_limits(self, harness: Harness) -> None:
        now = time.monotonic()
        if self.is_stopping():
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
            current = self.store()
        except self.unreachable as error:
            logger.warning("%s: progress was not stored: %s", self.name, error)
            self.reconnect()
            return
        self.unstored = False
        if not current:
            raise LeaseLost

    def _log(self, harness: Harness, status: int | None) -> None:
        ignored = self.ignored_lines + harness.cut_lines
        if ignored:
            logger.warning("%s: ignored %s lines of output", self.name, ignored)
        if status:
            # The page shows one line of this; operators need all of it.
            said = readable(harness.stderr.decode("utf-8", "replace"), longest=STDERR_KEPT_BYTES)
            logger.warning("%s: the harness ended with %s: %s", self.name, status, said)
