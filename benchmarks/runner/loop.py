"""The loop of a runner: claim a run, measure it, hand in its record."""

from __future__ import annotations

import json
import logging
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.client import SiteError
from benchmarks.errors import BenchmarkError
from benchmarks.measuring.device import DeviceBusy, devices_of, locked
from benchmarks.measuring.harness import COMMAND
from benchmarks.measuring.limits import Limits
from benchmarks.measuring.measurements import Measurement, MeasurementWatch
from benchmarks.measuring.watching import LeaseLost, WorkerStopping, own_folder
from benchmarks.records import documents
from benchmarks.records.failure_codes import FailureCode
from benchmarks.runner.site import (
    ENDED,
    NOT_ADMITTED,
    Attempt,
    RunnerSite,
    WrongDigest,
    may_pass,
)
from benchmarks.runner.state import Kept, State

logger = logging.getLogger(__name__)
POLL_S: Final = 10.0
LONGEST_WAIT_S: Final = 60.0
LONGEST_REASON: Final = 2000
DEVICE_WAIT_S: Final = Limits().device_wait_s


class SiteUnavailable(Exception):
    """The site does not answer, or is busy; the same request may succeed later."""


class AttemptWatch(MeasurementWatch):
    """A measurement that reports to the site.

    It goes on while the site is unavailable: its record is kept until the site has it.
    """

    unreachable = (SiteUnavailable,)

    def __init__(
        self,
        attempt: Attempt,
        measured: Measurement,
        *,
        site: RunnerSite,
        stop: threading.Event,
        **named: Any,
    ) -> None:
        super().__init__(attempt, limits=attempt.limits, patience_s=attempt.limits.run_s, **named)
        self.attempt, self.measured, self.site, self.stop = attempt, measured, site, stop

    def measurement(self) -> Measurement:
        return self.measured

    def store(self) -> bool:
        return self._report(self.progress.as_data())

    def extend(self) -> bool:
        return self._report(None)

    def is_stopping(self) -> bool:
        return self.stop.is_set()

    def reconnect(self) -> None:
        """Each request has a connection of its own."""

    def _report(self, progress: dict[str, Any] | None) -> bool:
        try:
            return self.site.report(self.attempt, progress)
        except SiteError as error:
            if may_pass(error):
                raise SiteUnavailable(str(error)) from error
            # Such as a revoked runner: the site would refuse the record.
            logger.error("%s: %s (%s)", self.attempt, error, error.code)
            return False


@dataclass
class Runner:
    """A runner at a site. `stop` ends it as soon as possible; the run returns to the queue."""

    site: RunnerSite
    state: State
    stop: threading.Event
    poll_s: float = POLL_S
    command: Sequence[str] = COMMAND

    def run(self, *, once: bool = False) -> None:
        """Measure run after run until stopped; with `once`, end after the first one or without one.

        Raises SiteError when the site refuses this runner.
        """
        while not self.stop.is_set():
            try:
                self.settle()
                attempt = None if self.stop.is_set() else self.site.claim()
                if attempt is not None:
                    self.measure(attempt)
                    self.settle()
            except SiteError as error:
                if not may_pass(error):
                    raise
                logger.warning("the site does not answer: %s", error)
                self.stop.wait(self.poll_s)
                continue
            if once:
                return
            if attempt is None:
                self.stop.wait(self.poll_s)

    def settle(self) -> None:
        """Hand in a kept record, or return a run that was begun; wait for the site as needed."""
        wait_s = 1.0
        while (kept := self.state.kept()) is not None:
            try:
                self._settle(kept)
            except SiteError as error:
                if not may_pass(error):
                    raise
                logger.warning("attempt %s waits for the site: %s", kept.attempt, error)
                if self.stop.wait(wait_s):
                    return
                wait_s = min(2 * wait_s, LONGEST_WAIT_S)

    def _settle(self, kept: Kept) -> None:
        try:
            if kept.record is None:
                # Begun before a restart. Its nonce is used up: measured again, it gets another.
                self.site.release(kept.attempt)
            else:
                self.site.hand_in(kept.attempt, kept.record)
                logger.info("the site has the record of attempt %s", kept.attempt)
        except SiteError as error:
            if may_pass(error) or error.status in NOT_ADMITTED:
                raise
            logger.error("the site refused attempt %s: %s (%s)", kept.attempt, error, error.code)
            if kept.record is not None:
                logger.error("its record is kept in %s", self.state.set_aside())
        self.state.end()

    def measure(self, attempt: Attempt) -> None:
        """Measure an attempt. Afterwards the state has its record, unless there is none."""
        logger.info("measuring %s", attempt)
        try:
            measured = self.site.measurement(attempt)
            document = documents.load(measured.benchmark)
            devices = devices_of(document["hardware"], documents.ranks(document))
            with (
                locked(*devices, home=self.state.folder, wait_s=DEVICE_WAIT_S) as locks,
                own_folder() as folder,
            ):
                self.state.begin(attempt.id)
                record = AttemptWatch(
                    attempt,
                    measured,
                    site=self.site,
                    stop=self.stop,
                    folder=folder,
                    device_locks=locks,
                    command=self.command,
                ).wait()
        except (WorkerStopping, DeviceBusy) as why:
            logger.info("%s returns to the queue: %s", attempt, type(why).__name__)
            self.site.release(attempt.id, attempts=1)
        except LeaseLost:
            logger.warning("%s was ended by the site", attempt)
        except SiteError as error:
            if may_pass(error) or error.status in NOT_ADMITTED:
                raise
            logger.error("%s: %s (%s)", attempt, error, error.code)
            if error.code != ENDED:
                self.site.fail(attempt, str(error)[:LONGEST_REASON], FailureCode.BENCHMARK)
        except (BenchmarkError, WrongDigest, ValueError) as failure:
            logger.error("%s failed: %s", attempt, failure)
            code = getattr(failure, "failure", FailureCode.BENCHMARK)
            self.site.fail(attempt, str(failure)[:LONGEST_REASON], code)
        else:
            self.state.keep(record)
            return
        self.state.end()


def introduced(site: RunnerSite, stop: threading.Event, **stated: str) -> str | None:
    """Introduce this machine; return the runner's name, or None if stopped before.

    Waits for a site that is unavailable. Raises SiteError when it refuses this runner.
    """
    while not stop.is_set():
        try:
            return str(site.introduce(**stated)["name"])
        except SiteError as error:
            if not may_pass(error):
                raise
            logger.warning("the site does not answer: %s", error)
            stop.wait(POLL_S)
    return None


def device(command: Sequence[str] = COMMAND) -> tuple[str, str]:
    """The kind and name of this machine's device, as records name it. Raises SiteError."""
    asked = subprocess.run([*command, "device"], capture_output=True, text=True, check=False)
    try:
        found = json.loads(asked.stdout)
        return str(found["device"]), str(found["name"])
    except (ValueError, KeyError, TypeError):
        raise SiteError(
            f"This machine's device is unknown: {asked.stderr.strip()[-500:]}",
            code="runner.no_device",
        ) from None
