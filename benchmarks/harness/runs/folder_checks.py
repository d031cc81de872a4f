"""Try a benchmark folder as the referee will, and say what to change.

Each trial is a run of the referee with a short protocol and a candidate made from the folder's own
files. Every baseline must pass; the fastest that does becomes the baseline. Zeros or lower
precision in the slot must not pass, and the reference must not be faster than the baseline.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

from benchmarks.harness.failures import (
    Caught,
    DeviceFailed,
    ReferenceFailed,
    SetupError,
    SideFailed,
)
from benchmarks.harness.runs import calibration, referee, trial_candidates
from benchmarks.harness.runs.candidates import Candidate
from benchmarks.harness.runs.progress import Progress
from benchmarks.records import benchmark_folders
from kernels import candidate_templates, protocols
from kernels.protocols import TINY

_SHORT = {name: getattr(TINY, name) for name in ("replicates", "max_replicates", "round_ms")} | {
    "rounds": 4,
    "aa_rounds": 0,
    "operator_rounds": 0,
    "warmup_ms": 0.0,
    "warmup_rounds": 1,
}
# Baselines are compared with each other by more rounds.
_COMPARED = {"rounds": 12}
# Rounds on a GPU need at least so many.
_LEAST_ROUND_MS = protocols.H200.round_ms
# A reference in higher precision that is faster than this proves a slow baseline.
_SLOW_BASELINE = 1.25

Level = Literal["error", "warning"]
Say = Callable[["Trying | Result"], None]
# The record of a short run of a document and a candidate's source, or its error.
Run = Callable[..., dict[str, Any] | Exception]


@dataclass(frozen=True, kw_only=True)
class Trying:
    """A trial that begins."""

    title: str


@dataclass(frozen=True, kw_only=True)
class Result:
    """One trial: what was tried, whether it passed, and what was found or is to be changed.

    `code` is "check." and one of: baseline, baselines, reference, slot, tolerance, gradients,
    precision, slow, calibration. `ratio` is a baseline's end-to-end speed over the first that
    passed.
    """

    title: str
    code: str
    passed: bool
    message: str
    level: Level = "error"
    ratio: float | None = None

    @property
    def outcome(self) -> str:
        """ "ok", "error" or "warning"."""
        return "ok" if self.passed else self.level

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {**asdict(self), "outcome": self.outcome}


def check(
    document: dict[str, Any],
    say: Say,
    *,
    calibrates: bool = False,
    required_isolation: Sequence[str] = (),
    captured: Mapping[str, bytes] | None = None,
) -> dict[str, Any] | None:
    """Try a folder's document; None if something must be changed.

    Otherwise the document with the fastest baseline that passed, calibrated if asked for. `say`
    gets every trial before and after it. Without the `required_isolation` no baseline passes, and
    nothing of the folder runs. `captured` are the files of captured tensors by path.
    """
    run = partial(_run, captured=captured)
    chosen = _with_fastest_baseline(document, say, partial(run, required=required_isolation))
    if chosen is None:
        return None
    source = chosen["files"][f"baselines/{chosen['baseline']['name']}.py"]
    results = [_tried(say, "Zeros in the slot", lambda title: _zeros(title, chosen, source, run))]
    if candidate_templates.trains(chosen["definition"]):
        trial = "Zeros as gradients"
        results.append(_tried(say, trial, lambda title: _gradients(title, chosen, source, run)))
    results.append(
        _tried(say, "Reference in the slot", lambda title: _reference(title, chosen, run)),
    )
    lower = trial_candidates.LOWER.get(chosen["dtype"])
    if lower:
        coarse = trial_candidates.rounded(source, lower)
        title = f"Inputs rounded to {lower}"
        results.append(_tried(say, title, lambda title: _coarse(title, chosen, coarse, run)))
    if not all(each.passed or each.level == "warning" for each in results):
        return None
    return _calibrated(chosen, say, captured) if calibrates else chosen


def _tried(say: Say, title: str, trial: Callable[[str], Result]) -> Result:
    say(Trying(title=title))
    result = trial(title)
    say(result)
    return result


def _with_fastest_baseline(document: dict[str, Any], say: Say, run: Run) -> dict[str, Any] | None:
    """The document with the fastest baseline that passes; None if none does."""
    files = document["files"]
    named = document["baseline"]["name"]
    first: dict[str, Any] | None = None
    speeds: dict[str, float] = {}
    unmeasured = False
    # The named one first: the others are measured against it.
    for name in sorted(benchmark_folders.baselines(files), key=lambda each: each != named):
        own = first or _on(document, name)
        title = f"Baseline {name}"
        if first:
            title += f" against {first['baseline']['name']}"
        result = _tried(say, title, _trial_of_baseline(own, name, run))
        if result.code == "check.reference":
            return None
        # Without its speed, the fastest is unknown.
        unmeasured |= result.code == "check.baselines"
        if result.passed:
            first = own
            speeds[name] = result.ratio or 1.0
    if first is None or unmeasured:
        return None
    fastest = max(speeds, key=speeds.__getitem__)
    if len(speeds) > 1:
        figures = ", ".join(f"{name} {speed:.2f}×" for name, speed in speeds.items())
        message = f"{fastest}, the fastest that passes: {figures}"
        say(Result(title="The baseline", code="check.baselines", passed=True, message=message))
    return _on(document, fastest)


def _on(document: dict[str, Any], name: str) -> dict[str, Any]:
    """The document with another of its baselines."""
    if document["baseline"]["name"] == name:
        return document
    return benchmark_folders.document(
        document["files"], captured=document.get("captured"), baseline=name
    )


def _trial_of_baseline(document: dict[str, Any], name: str, run: Run) -> Callable[[str], Result]:
    """Baseline `name` as the candidate against the document's own."""
    against = document["baseline"]["name"]
    source = document["files"][f"baselines/{name}.py"]

    def trial(title: str) -> Result:
        compared = {} if name == against else _COMPARED
        outcome = run(document, source, **compared)
        if isinstance(outcome, ReferenceFailed):
            return Result(title=title, code="check.reference", passed=False, message=str(outcome))
        found = _finding(outcome)
        if isinstance(outcome, Exception) or found:
            message = f"{found or outcome}: correct {name}.py, reference.py or [tolerance]"
            return Result(title=title, code="check.baseline", passed=False, message=message)
        ratio = outcome["summary"]["ratio"]
        if ratio is None and name != against:
            reasons = "; ".join(outcome["summary"]["reasons"])
            message = f"not comparable ({reasons}): check again while the machine is idle"
            return Result(title=title, code="check.baselines", passed=False, message=message)
        low = outcome["summary"]["low"]
        if name == against and low is not None and low > _SLOW_BASELINE:
            message = (
                f"{low:.2f}× at least against itself: remove from {name}.py what tells sides apart"
            )
            return Result(title=title, code="check.baseline", passed=False, message=message)
        measured = "not measured" if ratio is None else f"{ratio:.2f}×"
        trials = len((outcome["correctness"] or {}).get("trials", ()))
        message = (
            f"{measured}, {trials} correctness trials, {outcome['elapsed_s']:.0f} s a short run"
        )
        return Result(
            title=title,
            code="check.baseline",
            passed=True,
            message=message,
            ratio=1.0 if name == against else ratio,
        )

    return trial


def _zeros(title: str, document: dict[str, Any], source: str, run: Run) -> Result:
    if _finding(run(document, trial_candidates.zeros(source), held_back_shapes=0)):
        return Result(title=title, code="check.slot", passed=True, message="refused, as required")
    # Whether the step calls its slot: only then does a candidate that raises end the run.
    ended = run(document, trial_candidates.raising(source), held_back_shapes=0)
    if not isinstance(ended, Exception):
        message = "the step is right without the operator: call solution.run in program.py"
        return Result(title=title, code="check.slot", passed=False, message=message)
    message = (
        "accepted: the tolerance passes everything; lower max_abs, max_rel and hard_cap_abs in "
        "[tolerance], and let the step’s outputs depend on the operator’s"
    )
    return Result(title=title, code="check.tolerance", passed=False, message=message)


def _gradients(title: str, document: dict[str, Any], source: str, run: Run) -> Result:
    """Refuse a Program or tolerance that passes wrong gradients."""
    caught = bool(_finding(run(document, trial_candidates.zero_gradients(source))))
    message = "refused, as required"
    if not caught:
        message = "accepted: copy what solution.gradients returns in program.py, and lower max_abs"
    return Result(title=title, code="check.gradients", passed=caught, message=message)


def _reference(title: str, document: dict[str, Any], run: Run) -> Result:
    """Refuse a baseline slower than the reference, which computes in higher precision."""
    outcome = run(document, trial_candidates.reference(document))
    low = None if isinstance(outcome, Exception) else outcome["summary"]["low"]
    if low is None:
        message = "not measured: check again while the machine is idle"
        return Result(
            title=title, code="check.slow", passed=False, message=message, level="warning"
        )
    passed = low <= _SLOW_BASELINE
    message = f"{low:.2f}× the baseline’s speed at least"
    if not passed:
        message += ": choose a faster baseline, such as a library’s own call"
    return Result(title=title, code="check.slow", passed=passed, message=message)


def _coarse(title: str, document: dict[str, Any], source: str, run: Run) -> Result:
    caught = _finding(run(document, source))
    return Result(
        title=title,
        code="check.precision",
        passed=bool(caught),
        message="refused, as required"
        if caught
        else "accepted: lower terms, roundings or max_abs in [tolerance]",
        level="warning",
    )


def _calibrated(
    document: dict[str, Any], say: Say, captured: Mapping[str, bytes] | None
) -> dict[str, Any]:
    """The document with the baseline's measured times; without them if they scatter too much."""
    title = "Calibration of the baseline"
    say(Trying(title=title))
    try:
        found = calibration.calibrate(document, captured=captured)
    except (Caught, DeviceFailed, SideFailed, SetupError) as error:
        message = f"{error}; check again while the machine is idle"
        say(
            Result(
                title=title,
                code="check.calibration",
                passed=False,
                message=message,
                level="warning",
            )
        )
        return document
    measured = found["calibration"]
    times = "; ".join(f"{name} {each:,.1f} µs" for name, each in measured["baseline_us"].items())
    message = f"{times}; a band of {measured['band']:.0%} on {measured['device']}"
    say(Result(title=title, code="check.calibration", passed=True, message=message))
    return found


def _finding(outcome: Mapping[str, Any] | Exception) -> str:
    """What the referee found against the candidate of a run, if anything."""
    if isinstance(outcome, Exception):
        return ""
    return "; ".join(finding["message"] for finding in outcome["findings"])


def _run(
    document: dict[str, Any],
    source: str,
    *,
    required: Sequence[str] = (),
    captured: Mapping[str, bytes] | None = None,
    **protocol: Any,
) -> dict[str, Any] | Exception:
    """The record of a short run, or the error."""
    short = _SHORT | protocol
    if document["hardware"]["device"] == "cuda":
        short["round_ms"] = _LEAST_ROUND_MS
    tried = {**document, "protocol": {**document["protocol"], **short}, "calibration": None}
    try:
        return referee.run(
            tried,
            Candidate(name="check", source=source),
            device_kind=document["hardware"]["device"],
            command="twofold check",
            progress=Progress(tried, shown=False),
            required_isolation=required,
            captured=captured,
        )
    except (SideFailed, DeviceFailed, SetupError) as error:
        return error
