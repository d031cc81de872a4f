"""Supervise one claimed check of a benchmark folder, as `twofold check` in confined processes."""

import json
import logging
from pathlib import Path
from typing import Any

from django.conf import settings

from benchmarks.errors import BenchmarkError, StaleAttempt
from benchmarks.measuring import outcomes
from benchmarks.measuring.job_watching import JobWatch
from benchmarks.measuring.measurements import write_captured
from benchmarks.measuring.watching import LeaseLost, WorkerStopping, own_folder
from benchmarks.models import BenchmarkCheck
from benchmarks.records import documents
from benchmarks.services import captured_files, checks, leases
from benchmarks.text import last_line, readable

logger = logging.getLogger(__name__)
TO_CHANGE, UNUSABLE = 1, 2
MOST_RESULTS = 100
LONGEST_MESSAGE = 2000
_TEXTS = {"title": 200, "code": 60, "message": LONGEST_MESSAGE}
OUTCOMES = ("ok", "error", "warning")


def check(claimed: BenchmarkCheck, *, device_locks: tuple[int, ...]) -> str:
    """Check a claimed benchmark and conclude it; return the outcome for the log."""
    key = {"check_id": claimed.pk, "attempt": claimed.attempt}
    try:
        with own_folder() as folder:
            watch = CheckWatch(claimed, folder=folder, device_locks=device_locks)
            checked = watch.wait()
        checks.finish(**key, results=watch.results, checked=checked)
    except WorkerStopping:
        requeued = leases.requeue(BenchmarkCheck, claimed.pk, claimed.attempt)
        return "requeued" if requeued else "lost"
    except (LeaseLost, StaleAttempt):
        return "lost"
    except BenchmarkError as error:
        return f"failed: {error.code}" if checks.fail(**key, reason=error.message) else "lost"
    return "passed" if checked is not None else "to be changed"


class CheckWatch(JobWatch):
    """One attempt at a check, from the document to the checked one."""

    def __init__(
        self, check: BenchmarkCheck, *, folder: Path, device_locks: tuple[int, ...]
    ) -> None:
        super().__init__(check, folder=folder, device_locks=device_locks)
        self.check = check
        self.results: list[dict[str, Any]] = []
        self.trying = ""
        self._ignored = 0

    def wait(self) -> bytes | None:
        """Wait for the checked document; None where something must be changed.

        Raises outcomes.Failed, LeaseLost or WorkerStopping.
        """
        given, out = self.folder / "benchmark.json", self.folder / "checked.json"
        given.write_bytes(bytes(self.check.document))
        write_captured(self.folder, captured_files.of(self.check.benchmark))
        arguments = ["check", str(given), "--out", str(out), "--progress"]
        if required := ",".join(settings.TWOFOLD_REQUIRED_ISOLATION):
            arguments += ["--require-isolation", required]
        status = self.supervise(arguments)
        if status == TO_CHANGE and self.results:
            return None
        if status == 0 and out.is_file():
            with out.open("rb") as opened:
                return opened.read(documents.MAX_BYTES + 1)
        said = last_line(self.stderr.decode("utf-8", "replace"))
        if status == UNUSABLE:
            raise outcomes.Failed(
                f"This benchmark cannot be checked: {said}", code="check.unusable"
            )
        raise outcomes.Failed(
            f"The checking process ended with status {status} and no result. {said}".strip(),
            code="check.no_result",
        )

    def read(self, line: bytes, *, at_s: float) -> bool:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            event = None
        kind = event.get("event") if isinstance(event, dict) else None
        if kind == "trying":
            self.trying = readable(str(event.get("title", "")), longest=_TEXTS["title"])
        elif kind == "tried" and len(self.results) < MOST_RESULTS:
            self.trying = ""
            self.results.append(_result(event, at_s))
        else:
            self._ignored += 1
            return False
        return True

    def store(self) -> bool:
        progress = {"results": self.results, "trying": self.trying}
        rows = leases.current(BenchmarkCheck, self.check.pk, self.check.attempt)
        return bool(rows.update(progress=progress))

    @property
    def ignored_lines(self) -> int:
        return self._ignored


def _result(event: dict[str, Any], at_s: float) -> dict[str, Any]:
    """A trial as the page shows it."""
    texts = {
        name: readable(str(event.get(name, "")), longest=most) for name, most in _TEXTS.items()
    }
    outcome = event.get("outcome")
    return {
        **texts,
        "outcome": outcome if outcome in OUTCOMES else "error",
        "at_s": round(at_s, 1),
    }
