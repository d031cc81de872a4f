"""Measure the operator alone and try its correctness, in random order.

A side gets both by the same requests: until a setup has been asked for many rounds, it can be
either.
"""

import random
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from benchmarks.harness.failures import ROLES, Role
from benchmarks.harness.rounds import correctness, pairs
from benchmarks.harness.rounds.correctness import Attempt
from benchmarks.harness.rounds.plans import RoundPlan
from benchmarks.harness.rounds.settings import Setting
from benchmarks.harness.rounds.trials import Trial
from benchmarks.harness.runs import sides_of_a_pair
from benchmarks.harness.sides import operators
from benchmarks.harness.sides.processes import SideProcess
from benchmarks.records import observations

_RANDOM = random.SystemRandom()
Sides = dict[Role, SideProcess]


@dataclass(frozen=True, kw_only=True)
class _Shape:
    """A shape in which a workload's step calls the operator; `slot` counts the step's shapes."""

    workload: dict[str, Any]
    slot: int


@dataclass
class _Results:
    shapes: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return any(attempt.failure for attempt in self.attempts)


def measure(
    setting: Setting, sides: Sides, replicate: int
) -> tuple[list[dict[str, Any]] | None, list[dict[str, Any]]]:
    """The record's `operator` and `trials`. Raises SideFailed or Caught.

    The candidate is ended if it fails any trial. Shapes that were not measured by then are measured
    in fresh processes, where the baseline fails the same trials. `operator` is None where the
    protocol asks for none.
    """
    shapes = _shapes(setting)
    trials = correctness.that_fit(setting)
    units: list[_Shape | Trial] = [*shapes, *trials]
    results = _Results()
    left: list[_Shape] = []
    for unit in _RANDOM.sample(units, len(units)):
        if isinstance(unit, Trial):
            with setting.phases.of("trials", whole=True):
                results.attempts.append(correctness.attempted(setting, sides["candidate"], unit))
        elif results.failed:
            left.append(unit)
        else:
            _measure_shape(setting, sides, replicate, unit, results)
    if results.failed:
        # Its leftover work or memory could make the baseline fail, too, and excuse it.
        sides["candidate"].end()
    by_trial = {id(attempt.trial): attempt for attempt in results.attempts}
    with setting.phases.of("trials", whole=True):
        tried = [
            correctness.judged(setting, sides["baseline"], replicate, by_trial[id(trial)])
            for trial in trials
        ]
    if left:
        with ExitStack() as stack:
            order: list[Role] = _RANDOM.sample(ROLES, 2)
            fresh = sides_of_a_pair.start(setting, replicate, order, stack)
            for shape in left:
                _measure_shape(setting, fresh, replicate, shape, results)
    measured = [results.shapes[shape.workload["name"], shape.slot] for shape in shapes]
    return measured or None, tried


def _shapes(setting: Setting) -> list[_Shape]:
    if setting.protocol["operator_rounds"] == 0 or setting.reference is None:
        return []
    return [
        _Shape(workload={**workload, "axes": dict(slot.axes)}, slot=index)
        for workload in setting.document["workloads"]
        for index, slot in enumerate(
            operators.slots(setting.document["operator"], workload["axes"])
        )
    ]


def _measure_shape(
    setting: Setting, sides: Sides, replicate: int, shape: _Shape, results: _Results
) -> None:
    plan = RoundPlan(rounds=setting.protocol["operator_rounds"], level="operator")
    with setting.phases.of("operator_alone", whole=True):
        measured = pairs.measure(
            setting=setting, sides=sides, replicate=replicate, workload=shape.workload, plan=plan
        )
    pair = observations.pair(measured) | {"slot": shape.slot}
    results.shapes[shape.workload["name"], shape.slot] = pair
