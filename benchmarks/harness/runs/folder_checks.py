"""Try a benchmark folder as the referee will, and say what to change.

Each trial is a run of the referee with a short protocol and a candidate made from the folder's own
baseline: the baseline itself must pass, and zeros or lower precision in the slot must not.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.harness.failures import DeviceFailed, SetupError, SideFailed
from benchmarks.harness.runs import referee
from benchmarks.harness.runs.candidates import Candidate
from benchmarks.harness.runs.progress import Progress
from kernels import protocols
from kernels.protocols import TINY

_ZEROS = """

def run(prepared, inputs, out):
    for tensor in out.values():
        tensor.zero_()
"""
_COARSE = """

import torch as _torch

_full_run = run


def run(prepared, inputs, out):
    _full_run(prepared, {{name: _coarse(tensor) for name, tensor in inputs.items()}}, out)


def _coarse(tensor):
    if not tensor.is_floating_point():
        return tensor
    return tensor.to(_torch.{dtype}).to(tensor.dtype)
"""
_LOWER = {"float32": "float16", "float16": "float8_e4m3fn", "bfloat16": "float8_e4m3fn"}
_SHORT = {name: getattr(TINY, name) for name in ("replicates", "max_replicates", "round_ms")} | {
    "rounds": 4,
    "aa_rounds": 0,
    "operator_rounds": 0,
    "warmup_ms": 0.0,
    "warmup_rounds": 1,
}
# Rounds on a GPU need at least so many.
_LEAST_ROUND_MS = protocols.H200.round_ms


@dataclass(frozen=True, kw_only=True)
class Result:
    """One trial: what was tried, whether it passed, and what was found or is to be changed.

    `code` is "check." and one of: baseline, slot, tolerance, precision.
    """

    title: str
    code: str
    passed: bool
    message: str
    level: Literal["error", "warning"] = "error"


def check(document: dict[str, Any]) -> Iterator[Result]:
    """Try a folder's document; the trials after a failed baseline are left out."""
    name = document["baseline"]["name"]
    source = document["files"][f"baselines/{name}.py"]
    outcome = _run(document, source)
    first = _baseline(name, outcome)
    yield first
    if not first.passed:
        return
    yield _zeros(document, source)
    lower = _LOWER.get(document["dtype"])
    if lower:
        coarse = source + _COARSE.format(dtype=lower)
        caught = _is_caught(_run(document, coarse))
        yield Result(
            title=f"Inputs rounded to {lower}",
            code="check.precision",
            passed=caught,
            message="refused, as required"
            if caught
            else "accepted: lower terms, roundings or max_abs in [tolerance]",
            level="warning",
        )


def _baseline(name: str, outcome: dict[str, Any] | str) -> Result:
    title = f"Baseline {name} against itself"
    if isinstance(outcome, str):
        return Result(title=title, code="check.baseline", passed=False, message=outcome)
    if outcome["findings"]:
        found = "; ".join(finding["message"] for finding in outcome["findings"])
        message = f"{found}: correct {name}.py, reference.py or [tolerance]"
        return Result(title=title, code="check.baseline", passed=False, message=message)
    ratio = outcome["summary"]["ratio"]
    measured = "not measured" if ratio is None else f"{ratio:.2f}×"
    trials = len((outcome["correctness"] or {}).get("trials", ()))
    message = f"{measured}, {trials} correctness trials, {outcome['elapsed_s']:.0f} s a short run"
    return Result(title=title, code="check.baseline", passed=True, message=message)


def _zeros(document: dict[str, Any], source: str) -> Result:
    title = "Zeros in the slot"
    if _is_caught(_run(document, source + _ZEROS, held_back_shapes=0)):
        return Result(title=title, code="check.slot", passed=True, message="refused, as required")
    if _is_caught(_run(document, source + _ZEROS)):
        message = "the step is right without the operator: call solution.run in program.py"
        return Result(title=title, code="check.slot", passed=False, message=message)
    message = "accepted: the tolerance passes everything; lower max_abs in [tolerance]"
    return Result(title=title, code="check.tolerance", passed=False, message=message)


def _is_caught(outcome: Mapping[str, Any] | str) -> bool:
    return not isinstance(outcome, str) and bool(outcome["findings"])


def _run(document: dict[str, Any], source: str, **protocol: Any) -> dict[str, Any] | str:
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
        )
    except (SideFailed, DeviceFailed, SetupError) as error:
        return str(error)
