"""Measure one replicate: a fresh pair of processes through every workload."""

import random
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.harness.failures import ROLES, Caught, Role
from benchmarks.harness.rounds import pairs
from benchmarks.harness.rounds.plans import RoundPlan, Setup
from benchmarks.harness.rounds.settings import Setting
from benchmarks.harness.runs import operator_level, sides_of_a_pair
from benchmarks.harness.runs.progress import Progress
from benchmarks.records import observations
from benchmarks.verdict.controls import one_by_one

_RANDOM = random.SystemRandom()


def measure(
    *, setting: Setting, index: int, calls: dict[str, int], progress: Progress, tries: bool
) -> dict[str, Any]:
    """Measure replicate `index` (from 0) and return the record's entry.

    With `tries`, it also measures the operator alone and runs the correctness trials. Elsewhere
    these entries are None.

    `calls` holds the calls per round by workload; the first replicate fills it, and all use it.
    Raises SideFailed or Caught.
    """
    order: list[Role] = _RANDOM.sample(ROLES, 2)
    setups: dict[Role, Setup] = {role: Setup() for role in order}
    measured: dict[str, Any] = {}
    with ExitStack() as stack:
        sides = sides_of_a_pair.start(setting, index, order, stack)
        try:
            workloads = setting.document["workloads"]
            plans = _plans(setting)
            for workload in _RANDOM.sample(workloads, len(workloads)):
                name = workload["name"]
                measured[name] = pairs.measure(
                    setting=setting,
                    sides=sides,
                    setups=setups,
                    replicate=index,
                    workload=workload,
                    calls=calls.get(name),
                    on_round=progress.rounds_of(replicate=index, workload=name),
                    plan=plans[name],
                )
                calls[name] = measured[name]["calls"]
            # After the workloads, so that those run in fresh processes.
            alone, tried = operator_level.measure(setting, sides, index) if tries else (None, None)
        except Caught as caught:
            if caught.finding.side == "candidate":
                caught.output = sides["candidate"].output()
            raise
    return {
        "order": list(order),
        "setup": {role: setup.as_data() for role, setup in setups.items()},
        "workloads": [measured[workload["name"]] for workload in workloads],
        "correctness": None if tried is None else {"trials": tried},
        "operator": alone,
    }


def _plans(setting: Setting) -> dict[str, RoundPlan]:
    """The plan of each workload; a random one has its state refilled between two rounds."""
    singles = 0 if setting.definition.get("chain") else one_by_one.ROUNDS
    plan = RoundPlan(rounds=setting.protocol["rounds"], single_rounds=singles)
    plans = {workload["name"]: plan for workload in setting.document["workloads"]}
    if setting.definition["program_state"] and plan.rounds > 1:
        plans[_RANDOM.choice(list(plans))] = replace(plan, renews_state=True)
    return plans


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A workload of an A/A pair; `calls` None sizes its rounds."""

    workload: dict[str, Any]
    plan: RoundPlan
    calls: int | None = None


def same_code(setting: Setting, index: int, units: Sequence[Unit]) -> list[dict[str, Any]]:
    """Measure two fresh baselines against each other.

    `index` numbers the processes. Any finding is the baseline's.
    """
    order: list[Role] = _RANDOM.sample(ROLES, 2)
    with setting.phases.of("same_code", whole=True), ExitStack() as stack:
        sides = sides_of_a_pair.start(
            setting, index, order, stack, runs=dict.fromkeys(order, "baseline")
        )
        try:
            measured = [
                pairs.measure(
                    setting=setting,
                    sides=sides,
                    replicate=index,
                    workload=unit.workload,
                    plan=unit.plan,
                    calls=unit.calls,
                )
                for unit in units
            ]
            return [
                observations.pair(entry) | {"telemetry": entry["telemetry"]} for entry in measured
            ]
        except Caught as caught:
            said = caught.finding.message.replace("the candidate", "the baseline", 1)
            raise Caught(replace(caught.finding, side="baseline", message=said)) from caught
