"""Waiting for the workers, with what they have come to on the terminal."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from benchmarks.models import Run
from engagements import documents
from engagements.models import Engagement, EngagementRun, Evidence

Say = Callable[[str], None]

POLL_SECONDS = 0.5


class Patience:
    """A time limit that also ends when the processes that are waited for have died."""

    def __init__(self, processes: subprocess.Popen[bytes], *, log: Path, seconds: float) -> None:
        self._processes = processes
        self._log = log
        self._ends = time.monotonic() + seconds

    def spend(self, waiting_for: str) -> None:
        """Wait a moment. CommandError when time is up or the processes are gone."""
        if self._processes.poll() is not None:
            raise CommandError(f"The workers stopped while waiting for {waiting_for}: {self._log}")
        if time.monotonic() > self._ends:
            raise CommandError(f"Waited too long for {waiting_for}; the reason is in {self._log}")
        time.sleep(POLL_SECONDS)


def for_verdicts(requests: Iterable[EngagementRun], *, patience: Patience, say: Say) -> None:
    """Until every run is concluded and its verdict turned into what the contract makes of it."""
    waiting = {request.pk: "" for request in requests}
    while waiting:
        patience.spend("the measurement")
        found = EngagementRun.objects.select_related("run", "engagement").filter(pk__in=waiting)
        for request in found:
            news = _news(request.run)
            if news != waiting[request.pk]:
                say(f"{request.engagement.reference}  {news}")
                waiting[request.pk] = news
            if request.concluded_at is not None:
                del waiting[request.pk]


def for_evidence(engagement: Engagement, *, patience: Patience) -> None:
    """Until a worker has read every file of the engagement."""
    while any(not each.is_concluded for each in Evidence.objects.filter(engagement=engagement)):
        patience.spend("the evidence")


def for_documents(*, patience: Patience) -> None:
    """Until every document that is due has been issued."""
    while documents.missing():
        patience.spend("the documents")


def _news(run: Run) -> str:
    if run.state == Run.State.FAILED:
        return f"could not be measured: {run.failure_reason}"
    if run.state == Run.State.FINISHED:
        record = run.record
        return f"{record.verdict}: {measured(record.ratio, record.low, record.high)}"
    if run.state == Run.State.QUEUED:
        return "waits for a worker"
    return _progress_news(run.progress)


def _progress_news(progress: dict[str, Any]) -> str:
    replicate, replicates = progress.get("replicate"), progress.get("replicates")
    if not replicate:
        return "measuring: setting up"
    return f"measuring: replicate {replicate} of {replicates}{_so_far(progress)}"


def _so_far(progress: dict[str, Any]) -> str:
    """To one digit, so that a line is worth printing; an interval needs two replicates."""
    ratio, low, high = (progress.get(name) for name in ("ratio", "low", "high"))
    if ratio is None:
        return ""
    if low is None or high is None:
        return f", so far {ratio:.1f}x"
    return f", so far {ratio:.1f}x ({low:.1f} to {high:.1f})"


def measured(ratio: float | None, low: float | None, high: float | None) -> str:
    """A ratio with its interval in words, as in "2.84x (2.79 to 2.90)"."""
    if ratio is None or low is None or high is None:
        return "not measured"
    return f"{ratio:.2f}x ({low:.2f} to {high:.2f})"
