"""The controls of a run, its excluded rounds, and the machine's measured limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.verdict.controls.limits import EIGHT_BITS
from benchmarks.verdict.statistics.exclusions import counted_rounds
from engagements.common import ratios

Data = Mapping[str, Any]
NOT_MEASURED = "not measured"


@dataclass(frozen=True, kw_only=True)
class Control:
    """A control of the referee; `passed` is None where it was not measured."""

    name: str
    passed: bool | None
    detail: str

    @property
    def outcome(self) -> str:
        """The outcome as one word."""
        return {True: "held", False: "failed", None: NOT_MEASURED}[self.passed]

    @property
    def tone(self) -> str:
        """The badge's colour."""
        return {True: "good", False: "bad", None: "plain"}[self.passed]


@dataclass(frozen=True, kw_only=True)
class RunControls:
    """The controls of one record; none where the run ended early."""

    controls: list[Control]
    excluded: str
    limits: str

    @property
    def measured(self) -> list[Control]:
        """The controls with an outcome."""
        return [control for control in self.controls if control.passed is not None]

    @property
    def unmeasured(self) -> list[Control]:
        """The controls without one, such as those of a GPU in a run on a processor."""
        return [control for control in self.controls if control.passed is None]


def of(record: Data) -> RunControls:
    """Return the controls of a record in the referee's order."""
    return RunControls(
        controls=[
            Control(**control | {"detail": ratios.with_sign(control["detail"])})
            for control in record["controls"]
        ],
        excluded=_excluded(record),
        limits=_limits(record["environment"]["ceilings"]),
    )


def _excluded(record: Data) -> str:
    """Say how many pairs of rounds are excluded, and why; "" where none was measured."""
    if not record["replicates"]:
        return ""
    found = counted_rounds(record)
    reasons = [
        f"{count} {why}"
        for count, why in (
            (found.interrupted, "interrupted"),
            (found.unsteady, "with unsteady clocks"),
        )
        if count
    ]
    if not reasons:
        return f"All {found.rounds} pairs of rounds count."
    return f"Of {found.rounds} pairs of rounds, excluded: {', '.join(reasons)}."


def _limits(ceilings: Data | None) -> str:
    """Say which rates the shares refer to."""
    if ceilings is None:
        return "The machine's limits were not measured."
    rates = [f"a copy moved {ceilings['copy_bytes_per_s'] / 1e9:,.0f} GB/s"]
    rates += [
        f"matrix products in {dtype} reached {_tera(rate)} "
        f"{'TOP/s' if dtype == EIGHT_BITS else 'TFLOP/s'}"
        for dtype, rate in sorted(ceilings["matmul_flops_per_s"].items())
    ]
    return f"The machine's limits, measured in this run: {', '.join(rates)}."


def _tera(rate: float) -> str:
    """Format a rate in tera units with three significant digits."""
    return f"{rate / 1e12:,.0f}" if rate >= 1e15 else f"{rate / 1e12:.3g}"
