"""Correctness trials, once a run and untimed: held-back sizes, special values, repeats.

Sizes are drawn at random along the Definition's free axes. Special values are tried at the
contract's sizes, too, so that sizes do not reveal a trial. Where the candidate fails, the baseline
gets the same trial; if it fails as well, the trial is recorded as left out.
"""

import random
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal, Self

import torch

from benchmarks.harness.devices import contents
from benchmarks.harness.devices.arenas import Arena
from benchmarks.harness.devices.layouts import Layout
from benchmarks.harness.failures import Caught, Finding, Role
from benchmarks.harness.rounds.checks import CheckTotals, written_outside
from benchmarks.harness.rounds.settings import Setting
from benchmarks.harness.sides import operators, printable
from benchmarks.harness.sides.processes import SideProcess
from kernels.definition import Contents

_RANDOM = random.SystemRandom()
# The last call repeats the first one's inputs.
_CALLS = 3
_PARTS = ("state", "inputs", "outputs")
_ERROR_LETTERS = 500
# The referee's own contents and the reference's intermediate results.
_COPIES = 8
_SHARE_OF_FREE_MEMORY = 0.25


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A trial; `contents` is by tensor name, `strided` names axes along which inputs have gaps."""

    name: str
    kind: Literal["held_back", "special"]
    level: Literal["operator", "program"]
    axes: Mapping[str, int]
    strided: tuple[str, ...] = ()
    contents: Mapping[str, Contents]
    gain: float = 1.0


@dataclass(frozen=True, kw_only=True)
class _Attempt:
    """The candidate's result in a trial, and the contents that it was given."""

    trial: Trial
    totals: CheckTotals
    failure: str | None
    given: Mapping[str, torch.Tensor]


def run(*, setting: Setting, sides: Mapping[Role, SideProcess], replicate: int) -> dict[str, Any]:
    """Run every trial and return the record's `correctness`. Raises SideFailed or Caught.

    The candidate is ended if it fails any of them.
    """
    with setting.phases.of("trials", whole=True):
        trials = [trial for trial in drawn(setting.document) if _fits(setting, trial)]
        attempts = [_attempted(setting, sides["candidate"], trial) for trial in trials]
        if any(attempt.failure for attempt in attempts):
            # Its leftover work or memory could make the baseline fail, too, and excuse it.
            sides["candidate"].end()
        tried = [_judged(setting, sides["baseline"], replicate, each) for each in attempts]
    return {"trials": tried}


def drawn(document: Mapping[str, Any]) -> list[Trial]:
    """Draw the trials of a run, each with new sizes."""
    held_back = document["definition"]["held_back"]
    count = document["protocol"]["held_back_shapes"]
    if count == 0:
        return []
    trials = [_of_size(document, index, count) for index in range(count)]
    for special in held_back["special"]:
        trials.append(_special(special, *_drawn_axes(document)))
        if held_back["free"]:
            own = _RANDOM.choice(document["workloads"])
            trials.append(_special(special, f"workload {own['name']}", own["axes"]))
    return trials


def _special(special: Mapping[str, Any], where: str, axes: Mapping[str, int]) -> Trial:
    return Trial(
        name=f"{special['name']} at {where}",
        kind="special",
        level="operator",
        axes=dict(axes),
        contents={name: Contents(**how) for name, how in special["contents"].items()},
        gain=special["gain"],
    )


def _of_size(document: Mapping[str, Any], index: int, count: int) -> Trial:
    """First all free axes at 1, then drawn sizes, the last of them in the whole Program."""
    free, axes = _drawn_axes(document, ones=index == 0)
    in_program = index == count - 1 and index > 0
    strided = tuple(document["definition"]["held_back"]["strided"])
    gaps = strided if index > 0 and not in_program else ()
    what = ", in the whole step" if in_program else ", inputs with gaps" if gaps else ""
    return Trial(
        name=f"{free}{what}",
        kind="held_back",
        level="program" if in_program else "operator",
        axes=axes,
        strided=gaps,
        contents={},
    )


def _drawn_axes(document: Mapping[str, Any], *, ones: bool = False) -> tuple[str, dict[str, int]]:
    """A name and the axes: random odd sizes along free axes, a workload's along the others."""
    axes = dict(_RANDOM.choice(document["workloads"])["axes"])
    free = document["definition"]["held_back"]["free"]
    for axis in free:
        most = -(-axes[axis] // 2)
        # Not 1 again: gaps along an axis of size 1 have no effect.
        axes[axis] = 1 if ones else _RANDOM.randrange(min(3, most), most + 1, 2)
    return ", ".join(f"{axis} {axes[axis]}" for axis in free) or "the contract's sizes", axes


def _fits(setting: Setting, trial: Trial) -> bool:
    """Whether it fits into memory; held-back sizes are required and must."""
    needed = _COPIES * sum(_layout(setting, trial, part).nbytes for part in _PARTS)
    memory = _SHARE_OF_FREE_MEMORY * setting.device.free_bytes()
    return trial.kind == "held_back" or needed <= memory


def _layout(setting: Setting, trial: Trial, part: str) -> Layout:
    """The layout of a part for all calls; the state is shared by them."""
    prefix = "program_" if trial.level == "program" else ""
    return Layout.plan(
        setting.definition[prefix + part],
        trial.axes,
        setting.document["dtype"],
        1 if part == "state" else _CALLS,
        strided=trial.strided if part == "inputs" else (),
    )


def _attempted(setting: Setting, candidate: SideProcess, trial: Trial) -> _Attempt:
    with _TrialMemory(setting, trial) as memory:
        totals, failure = memory.tried(candidate)
        given = {} if failure is None else memory.given
    return _Attempt(trial=trial, totals=totals, failure=failure, given=given)


def _judged(
    setting: Setting, baseline: SideProcess, replicate: int, attempt: _Attempt
) -> dict[str, Any]:
    """The record's entry. Raises Caught where the baseline passes and the candidate does not."""
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


def _finding(attempt: _Attempt, replicate: int) -> Finding:
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
        for part, private in self.given.items():
            self._arenas[part].memory.copy_(private)
        self._sealed = {part: setting.checksum.of(each) for part, each in self.given.items()}

    def _drawn(self) -> dict[str, torch.Tensor]:
        """New contents of state and inputs, in memory that no side sees."""
        drawn = {}
        for part in ("state", "inputs"):
            layout = self._layouts[part]
            drawn[part] = torch.zeros_like(self._arenas[part].memory)
            contents.refill(drawn[part], layout, self._setting.source)
            contents.plant(drawn[part], layout, self._trial.contents, self._setting.source)
        contents.repeat(drawn["inputs"], self._layouts["inputs"], [_CALLS - 1])
        return drawn

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.given = {}
        self._stack.close()

    def _reference(self, call: int) -> dict[str, torch.Tensor]:
        module = operators.part(self._setting.document["operator"], "reference")
        level = module.reference_step if self._trial.level == "program" else module.reference
        expected: dict[str, torch.Tensor] = level(
            state=self._layouts["state"].tensors(self.given["state"], 0),
            inputs=self._layouts["inputs"].tensors(self.given["inputs"], call),
            axes=self._trial.axes,
        )
        return expected

    def tried(self, side: SideProcess) -> tuple[CheckTotals, str | None]:
        """Have a side run the calls; returns what was wrong, if anything. Raises SideFailed."""
        outputs = self._arenas["outputs"].memory
        canaries = contents.poison(outputs, self._layouts["outputs"])
        axes = dict(self._trial.axes)
        message: dict[str, Any] = {"type": "trial", "level": self._trial.level, "axes": axes}
        descriptors: list[int] = []
        for part in _PARTS:
            handle, opened = self._arenas[part].handle()
            descriptors.extend(opened)
            message[part] = {"layout": self._layouts[part].as_data(), "arena": handle}
        self._setting.device.synchronize()
        answer = side.ask(
            message,
            descriptors=descriptors,
            expect="tried",
            limit_s=self._setting.protocol["setup_limit_s"],
            doing=f"in a trial at {self._trial.name}",
        )
        totals = CheckTotals()
        if answer.get("error") is not None:
            return totals, f"raised {printable.line(answer['error'], _ERROR_LETTERS)}"
        # Compute the reference only now: on a GPU, forged handles could open its results.
        return totals, self._failure(outputs.clone(), canaries, totals)

    def _failure(
        self, memory: torch.Tensor, canaries: dict[str, int], totals: CheckTotals
    ) -> str | None:
        layout = self._layouts["outputs"]
        for part, private in self.given.items():
            changed = self._setting.checksum.of(private) != self._sealed[part]
            if changed or not torch.equal(self._arenas[part].memory, private):
                return f"wrote to its {part}"
        if overflow := written_outside(layout, memory, canaries):
            return overflow
        tolerance = self._tolerance()
        for call in range(_CALLS):
            tensors = layout.tensors(memory, call)
            if failure := totals.check_call(tensors, self._reference(call), tolerance):
                return failure
        return totals.check_repeats(layout, memory, [0, _CALLS - 1], tolerance)

    def _tolerance(self) -> dict[str, float]:
        sealed: dict[str, float] = dict(self._setting.tolerance(self._trial.level))
        for bound in ("max_abs", "max_rel", "hard_cap_abs"):
            sealed[bound] *= self._trial.gain
        return sealed
