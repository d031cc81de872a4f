"""What speaks for a run itself: its controls, the rounds it left out, the machine's own limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.harness.controls.limits import EIGHT_BITS
from benchmarks.harness.verdict import verdicts
from engagements.common import ratios

Data = Mapping[str, Any]
NOT_MEASURED = "not measured"


@dataclass(frozen=True, kw_only=True)
class Control:
    """One control of the referee's; `passed` is None where it was not measured."""

    name: str
    passed: bool | None
    detail: str

    @property
    def outcome(self) -> str:
        """In a word or two."""
        return {True: "held", False: "failed", None: NOT_MEASURED}[self.passed]

    @property
    def tone(self) -> str:
        """The badge's colour."""
        return {True: "good", False: "bad", None: "plain"}[self.passed]


@dataclass(frozen=True, kw_only=True)
class RunControls:
    """Everything of it for one record; no controls where the run ended before its time."""

    controls: list[Control]
    left_out: str
    limits: str


def of(record: Data) -> RunControls:
    """The controls of a record, in the referee's order and words; speedups with the pages' sign."""
    return RunControls(
        controls=[
            Control(**control | {"detail": ratios.with_sign(control["detail"])})
            for control in record["controls"]
        ],
        left_out=_left_out(record),
        limits=_limits(record["environment"]["ceilings"]),
    )


def _left_out(record: Data) -> str:
    """How many pairs of rounds do not count, and why; "" where none was measured."""
    if not record["replicates"]:
        return ""
    found = verdicts.counts_of(record)
    reasons = [
        f"{count} {why}"
        for count, why in (
            (found.interrupted, "interrupted"),
            (found.unsteady, "on unsteady clocks"),
        )
        if count
    ]
    if not reasons:
        return f"All {found.rounds} pairs of rounds count."
    return f"Of {found.rounds} pairs of rounds some do not count: {', '.join(reasons)}."


def _limits(ceilings: Data | None) -> str:
    """The rates that the shares are of."""
    if ceilings is None:
        return "This machine's own limits were not measured."
    rates = [f"a copy moved {ceilings['copy_bytes_per_s'] / 1e9:,.0f} GB/s"]
    rates += [
        f"matrix products in {dtype} reached {_tera(rate)} "
        f"{'TOP/s' if dtype == EIGHT_BITS else 'TFLOP/s'}"
        for dtype, rate in sorted(ceilings["matmul_flops_per_s"].items())
    ]
    return f"Limits are this machine's own, measured in this run: {', '.join(rates)}."


def _tera(rate: float) -> str:
    """Three figures of a small rate, and all before the point of a large one."""
    return f"{rate / 1e12:,.0f}" if rate >= 1e15 else f"{rate / 1e12:.3g}"
