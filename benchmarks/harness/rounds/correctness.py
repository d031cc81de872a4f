"""Correctness trials, once a run and untimed: held-back sizes, special values, repeats.

Sizes are drawn at random along the Definition's free axes. Special values are tried at the
contract's sizes, too, so that sizes do not reveal a trial, and a side gets one by the same requests
as a workload: ordinary contents first, the trial's in a round. Where the candidate fails, the
baseline gets the same trial; if it fails as well, the trial is recorded as left out.
"""

import contextlib
import secrets
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Self

import torch

from benchmarks.harness.devices import contents, rank_layouts
from benchmarks.harness.devices.arenas import Arena
from benchmarks.harness.devices.chaining import Chain
from benchmarks.harness.devices.layouts import Layout
from benchmarks.harness.failures import Caught, Finding, SideRaised
from benchmarks.harness.rounds import audits, chains, trials
from benchmarks.harness.rounds.checks import CheckTotals, written_outside
from benchmarks.harness.rounds.settings import Setting
from benchmarks.harness.rounds.trials import Trial
from benchmarks.harness.sides.processes import SideProcess

_CALLS = 3
_PARTS = ("state", "inputs", "outputs")
# The referee's own contents and the reference's intermediate results.
_COPIES = 8
_SHARE_OF_FREE_MEMORY = 0.25


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """The candidate's result in a trial, and the contents that it was given."""

    trial: Trial
    totals: CheckTotals
    failure: str | None
    given: Mapping[str, torch.Tensor]


def that_fit(setting: Setting) -> list[Trial]:
    """Draw the trials of a run that fit into memory."""
    return [trial for trial in trials.drawn(setting.document) if _fits(setting, trial)]


def _fits(setting: Setting, trial: Trial) -> bool:
    """Whether it fits into memory; held-back sizes are required and must."""
    needed = _COPIES * sum(_layout(setting, trial, part).nbytes for part in _PARTS)
    memory = _SHARE_OF_FREE_MEMORY * setting.device.free_bytes()
    return trial.kind == "held_back" or needed <= memory


def _layout(setting: Setting, trial: Trial, part: str) -> Layout:
    """The layout of a part for all calls; the state is shared by them."""
    prefix = "program_" if trial.level == "program" else ""
    return rank_layouts.plan(
        setting.definition[prefix + part],
        trial.axes,
        setting.document["dtype"],
        1 if part == "state" else _CALLS,
        strided=trial.strided if part == "inputs" else (),
    )


def attempted(setting: Setting, candidate: SideProcess, trial: Trial) -> Attempt:
    """Have the candidate try. Raises SideFailed."""
    with _TrialMemory(setting, trial) as memory:
        totals, failure = memory.tried(candidate)
        given = {} if failure is None else memory.given
    return Attempt(trial=trial, totals=totals, failure=failure, given=given)


def judged(
    setting: Setting, baseline: SideProcess, replicate: int, attempt: Attempt
) -> dict[str, Any]:
    """The record's entry. Raises Caught where the baseline passes and the candidate does not.

    A candidate that failed must have been ended: its leftover work or memory could make the
    baseline fail, too, and excuse it.
    """
    trial, outcome, message = attempt.trial, "right", None
    if attempt.failure is not None:
        # The same contents, in memory that the candidate never had.
        with _TrialMemory(setting, trial, attempt.given) as memory:
            _, excuse = memory.tried(baseline)
        if excuse is None:
            raise Caught(_finding(attempt, replicate))
        outcome = "left_out"
        message = f"the candidate {attempt.failure}; the baseline {excuse}"
    checks = attempt.totals.as_data()
    del checks["calls_probed"]
    return {
        "name": trial.name,
        "kind": trial.kind,
        "level": trial.level,
        "axes": dict(trial.axes),
        "outcome": outcome,
        "message": message,
        "checks": checks,
    }


def _finding(attempt: Attempt, replicate: int) -> Finding:
    trial = attempt.trial
    return Finding(
        kind=trial.kind,
        side="candidate",
        replicate=replicate,
        workload=trial.name,
        message=f"the candidate {attempt.failure}, at {trial.name}, where the baseline is right",
    )


class _TrialMemory:
    """The memory of a side's trial; `given` are contents to use again."""

    def __init__(
        self, setting: Setting, trial: Trial, given: Mapping[str, torch.Tensor] | None = None
    ) -> None:
        self._setting = setting
        self._trial = trial
        self._stack = ExitStack()
        self._layouts: dict[str, Layout] = {}
        self._arenas: dict[str, Arena] = {}
        for part in _PARTS:
            layout = _layout(setting, trial, part)
            # A side always opens three arenas, even without state.
            arena = setting.device.allocate(max(layout.nbytes, 8), read_only=part == "state")
            self._stack.callback(arena.close)
            self._layouts[part], self._arenas[part] = layout, arena
        self.given = self._drawn() if given is None else given
        self._arenas["state"].memory.copy_(self.given["state"])
        # A side that captures its calls before the first round sees contents like any other.
        contents.refill(self._arenas["inputs"].memory, self._layouts["inputs"], setting.source)
        self._chain = chains.drawn(setting, trial.level, self._layouts["inputs"], {})
        self._sealed = {part: setting.checksum.of(each) for part, each in self.given.items()}

    def _drawn(self) -> dict[str, torch.Tensor]:
        """New contents of state and inputs, in memory that no side sees."""
        drawn = {}
        for part in ("state", "inputs"):
            layout = self._layouts[part]
            drawn[part] = torch.zeros_like(self._arenas[part].memory)
            contents.refill(drawn[part], layout, self._setting.source)
            contents.plant(drawn[part], layout, self._trial.contents, self._setting.source)
        return drawn

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.given = {}
        self._stack.close()

    def tried(self, side: SideProcess) -> tuple[CheckTotals, str | None]:
        """Have a side run the calls twice; returns what was wrong, if anything. Raises SideFailed.

        A side that raised is asked for nothing more in this trial, but to free its memory.
        """
        exchange = _Exchange(self._setting, side, self._trial)
        totals = CheckTotals()
        try:
            exchange.begin(self._layouts, self._arenas)
            rounds = [self._round(exchange) for _ in range(2)]
            changed = exchange.audited()
            exchange.release()
        except SideRaised as error:
            with contextlib.suppress(SideRaised):
                exchange.release()
            return totals, error.raised
        if changed:
            return totals, f"changed outside its slot: {', '.join(changed)}"
        # Compute the reference only now: on a GPU, forged handles could open its results.
        return totals, self._failure(rounds, totals)

    def _round(self, exchange: "_Exchange") -> tuple[torch.Tensor, dict[str, int]]:
        """One round: a copy of the outputs, and their canaries."""
        outputs = self._arenas["outputs"].memory
        canaries = contents.poison(outputs, self._layouts["outputs"])
        self._arenas["inputs"].memory.copy_(self.given["inputs"])
        self._setting.device.synchronize()
        exchange.go(self._chain)
        return outputs.clone(), canaries

    def _failure(
        self, rounds: list[tuple[torch.Tensor, dict[str, int]]], totals: CheckTotals
    ) -> str | None:
        layout = self._layouts["outputs"]
        for part, private in self.given.items():
            changed = self._setting.checksum.of(private) != self._sealed[part]
            if changed or not torch.equal(self._arenas[part].memory, private):
                return f"wrote to its {part}"
        for memory, canaries in rounds:
            if overflow := written_outside(layout, memory, canaries):
                return overflow
        tolerance = self._tolerance()
        (first, _), (second, _) = rounds
        for call in range(_CALLS):
            tensors = layout.tensors(first, call)
            if failure := totals.check_call(tensors, self._reference(first, call), tolerance):
                return failure
        chained = self._chain is not None
        return totals.check_repeats(layout, (first, second), tolerance, chained=chained)

    def _reference(self, outputs: torch.Tensor, call: int) -> dict[str, torch.Tensor]:
        setting = self._setting
        level = setting.reference_step if self._trial.level == "program" else setting.reference
        assert level is not None
        inputs = self._layouts["inputs"].tensors(self.given["inputs"], call)
        if self._chain is not None and call:
            previous = self._layouts["outputs"].tensors(outputs, call - 1)
            inputs = self._chain.mixed(inputs, previous, {})
        expected: dict[str, torch.Tensor] = level(
            state=self._layouts["state"].tensors(self.given["state"], 0),
            inputs=inputs,
            axes=self._trial.axes,
        )
        return expected

    def _tolerance(self) -> dict[str, float]:
        sealed: dict[str, float] = dict(self._setting.tolerance(self._trial.level))
        for bound in ("max_abs", "max_rel", "hard_cap_abs"):
            sealed[bound] *= self._trial.gain
        return sealed


class _Exchange:
    """The requests of a trial, which are those of a workload's rounds."""

    def __init__(self, setting: Setting, side: SideProcess, trial: Trial) -> None:
        self._setting = setting
        self._side = side
        self._trial = trial
        self._doing = f"in a trial at {trial.name}"

    def begin(self, layouts: Mapping[str, Layout], arenas: Mapping[str, Arena]) -> None:
        """Have the side build its step and open the calls' inputs and outputs."""
        state, opened = arenas["state"].handle()
        axes = {"level": self._trial.level, "axes": dict(self._trial.axes)}
        layout = layouts["state"].as_data()
        self._ask({"type": "setup", "layout": layout, "state": state, **axes}, "ready", opened)
        descriptors: list[int] = []
        message: dict[str, Any] = {"type": "bind", "rounds": [_CALLS]}
        for part in ("inputs", "outputs"):
            handle, opened = arenas[part].handle()
            descriptors.extend(opened)
            message[part] = {"layout": layouts[part].as_data(), "arena": handle}
        self._ask(message, "bound", descriptors)

    def go(self, chain: Chain | None) -> None:
        """Run a round."""
        self._ask(
            {
                "type": "go",
                "first": 0,
                "calls": _CALLS,
                "token": secrets.token_hex(8),
                "chain": None if chain is None else chain.as_data(),
            },
            "done",
        )

    def audited(self) -> list[str]:
        """The candidate's changes outside its slot."""
        if self._side.role != "candidate":
            return []
        return audits.of(self._setting, self._side, self._doing)

    def release(self) -> None:
        """Have the side free the trial's memory."""
        self._ask({"type": "release"}, "released")

    def _ask(self, message: dict[str, Any], expect: str, descriptors: Sequence[int] = ()) -> None:
        limit_s = self._setting.protocol["setup_limit_s"]
        self._side.ask(
            message, descriptors=descriptors, expect=expect, limit_s=limit_s, doing=self._doing
        )
