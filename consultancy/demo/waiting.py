"""Wait for the workers, reporting their progress on the terminal."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from django.core.management.base import CommandError

from benchmarks.models import Run
from engagements import documents
from engagements.engagement.models import Engagement
from engagements.evidence.models import Evidence
from engagements.runs.models import EngagementRun

Report = Callable[[str], None]

POLL_SECONDS = 0.5


class Deadline:
    """A time limit that also expires when the site's processes exit."""

    def __init__(self, processes: subprocess.Popen[bytes], *, log: Path, seconds: float) -> None:
        self._processes = processes
        self._log = log
        self._ends = time.monotonic() + seconds

    def wait(self, subject: str) -> None:
        """Sleep for one poll. CommandError when time is up or the processes have exited."""
        if self._processes.poll() is not None:
            raise CommandError(f"A process exited while waiting for {subject}. See {self._log}.")
        if time.monotonic() > self._ends:
            raise CommandError(f"Timed out waiting for {subject}. See {self._log}.")
        time.sleep(POLL_SECONDS)


def wait_for_verdicts(
    requests: Iterable[EngagementRun], *, deadline: Deadline, report: Report
) -> None:
    """Wait until every run is concluded and its verdict applied to the contract."""
    pending = {request.pk: "" for request in requests}
    while pending:
        deadline.wait("the measurement")
        found = EngagementRun.objects.select_related("run", "engagement").filter(pk__in=pending)
        for request in found:
            status = _status(request.run)
            if status != pending[request.pk]:
                report(f"{request.engagement.reference}  {status}")
                pending[request.pk] = status
            if request.concluded_at is not None:
                del pending[request.pk]


def wait_for_evidence(engagement: Engagement, *, deadline: Deadline) -> None:
    """Wait until a worker has parsed every file of the engagement."""
    while any(not each.is_concluded for each in Evidence.objects.filter(engagement=engagement)):
        deadline.wait("the evidence")


def wait_for_site(url: str, *, deadline: Deadline) -> None:
    """Wait until the site answers this page with 200."""
    while True:
        try:
            with urlopen(url, timeout=5) as response:  # noqa: S310  our own address
                if response.status == HTTPStatus.OK:
                    return
        except OSError:
            pass
        deadline.wait("the site")


def wait_for_documents(*, deadline: Deadline) -> None:
    """Wait until every document that is due has been issued."""
    while documents.missing():
        deadline.wait("the documents")


def _status(run: Run) -> str:
    if run.state == Run.State.FAILED:
        return f"measurement failed: {run.failure_reason}"
    if run.state == Run.State.FINISHED:
        record = run.record
        return f"{record.verdict}: {format_ratio(record.ratio, record.low, record.high)}"
    if run.state == Run.State.QUEUED:
        return "queued"
    return _progress(run.progress)


def _progress(progress: dict[str, Any]) -> str:
    replicate, replicates = progress.get("replicate"), progress.get("replicates")
    if not replicate:
        return "measuring: setting up"
    return f"measuring: replicate {replicate} of {replicates}{_estimate(progress)}"


def _estimate(progress: dict[str, Any]) -> str:
    """One digit, so that a new line means a change; an interval needs two replicates."""
    ratio, low, high = (progress.get(name) for name in ("ratio", "low", "high"))
    if ratio is None:
        return ""
    if low is None or high is None:
        return f", so far {ratio:.1f}×"
    return f", so far {ratio:.1f}× ({low:.1f} to {high:.1f})"


def format_ratio(ratio: float | None, low: float | None, high: float | None) -> str:
    """Format a ratio with its interval, as in "2.84× (2.79 to 2.90)"."""
    if ratio is None or low is None or high is None:
        return "not measured"
    return f"{ratio:.2f}× ({low:.2f} to {high:.2f})"
