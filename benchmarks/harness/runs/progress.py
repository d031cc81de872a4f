"""Report progress: one JSON event a line, with the estimate so far."""

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.verdict.statistics import interim

OnRound = Callable[[int, float, float], None]
Watcher = Callable[[Mapping[str, Any]], None]


class Progress:
    """Prints events to stdout if `shown`, and keeps the running estimate.

    `watcher` is called with each event, such as the terminal's progress bar.
    """

    def __init__(
        self, document: dict[str, Any], *, shown: bool, watcher: Watcher | None = None
    ) -> None:
        self._shown = shown
        self._watcher = watcher
        protocol = document["protocol"]
        self._looks = interim.schedule(protocol)
        self._replicates: int = protocol["replicates"]
        self._rounds: int = protocol["rounds"]
        self._weights = {w["name"]: float(w["weight"]) for w in document["workloads"]}
        self._baseline_us: dict[str, list[float]] = defaultdict(list)
        self._candidate_us: dict[str, list[float]] = defaultdict(list)
        self._low: float | None = None
        self._high: float | None = None
        self._last: dict[str, Any] = {"replicate": 0, "round": 0, "workload": None}

    def ratio(self) -> float | None:
        """The traffic-weighted ratio over the workloads measured so far."""
        baseline = candidate = 0.0
        for name, samples in self._baseline_us.items():
            weight = self._weights[name] / len(samples)
            baseline += weight * sum(samples)
            candidate += weight * sum(self._candidate_us[name])
        return baseline / candidate if candidate > 0 else None

    def started(self) -> None:
        """Report the start."""
        self._say("started", "measuring")

    def rounds_of(self, *, replicate: int, workload: str) -> OnRound:
        """The callback after each round of a workload, with its times in us per call."""

        def on_round(index: int, baseline_us: float, candidate_us: float) -> None:
            self._baseline_us[workload].append(baseline_us)
            self._candidate_us[workload].append(candidate_us)
            self._last = {"replicate": replicate + 1, "round": index + 1, "workload": workload}
            self._expect(replicate + 1)
            self._say("round", "")

        return on_round

    def replicate(self, index: int, *, low: float | None, high: float | None, message: str) -> None:
        """Report a finished replicate and the new interval; `index` counts from 0."""
        self._low, self._high = low, high
        self._last = {"replicate": index + 1, "round": self._rounds, "workload": None}
        self._expect(index + 1)
        self._say("replicate", message)

    def _expect(self, replicate: int) -> None:
        """Expect at least the replicates up to the next look."""
        following = (look for look in self._looks if look >= replicate)
        self._replicates = max(self._replicates, next(following, replicate))

    def finished(self, summary: dict[str, Any]) -> None:
        """Report the verdict."""
        self._low, self._high = summary["low"], summary["high"]
        message = f"{summary['verdict']}: {'; '.join(summary['reasons'])}"
        self._say("finished", message, ratio=summary["ratio"])

    def failed(self, message: str, *, code: str, log: str | None = None) -> None:
        """Report a failure without a record; `log` is a compiler's or the side's output."""
        self._say("failed", message, code=code, **({} if log is None else {"log": log}))

    def _say(self, event: str, message: str, **changed: Any) -> None:
        if not self._shown and self._watcher is None:
            return
        line = {
            "event": event,
            "replicate": self._last["replicate"],
            "replicates": self._replicates,
            "round": self._last["round"],
            "rounds": self._rounds,
            "workload": self._last["workload"],
            "ratio": self.ratio(),
            "low": self._low,
            "high": self._high,
            "message": message,
            **changed,
        }
        if self._shown:
            print(json.dumps(line), file=sys.stdout, flush=True)
        if self._watcher is not None:
            self._watcher(line)
