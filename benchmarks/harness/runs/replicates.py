"""Measure one replicate: a fresh pair of processes through every workload."""

import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from benchmarks.harness.failures import ROLES, Caught, Role
from benchmarks.harness.rounds import correctness, pairs
from benchmarks.harness.rounds.pairs import RoundPlan, Setup
from benchmarks.harness.rounds.settings import Setting
from benchmarks.harness.runs.progress import Progress
from benchmarks.harness.sides import folders, isolation, operators
from benchmarks.harness.sides.processes import SideProcess
from benchmarks.harness.sides.sandboxes import Sandbox
from benchmarks.records import observations
from benchmarks.verdict.controls import one_by_one

_RANDOM = random.SystemRandom()
_OWN: Mapping[Role, Role] = {role: role for role in ROLES}


def measure(
    *, setting: Setting, index: int, calls: dict[str, int], progress: Progress, tries: bool
) -> dict[str, Any]:
    """Measure replicate `index` (from 0) and return the record's entry.

    With `tries`, it runs the correctness trials. Replicate 0 also measures the operator alone.
    Elsewhere these entries are None.

    `calls` holds the calls per round by workload; the first replicate fills it, and all use it.
    Raises SideFailed or Caught.
    """
    order: list[Role] = _RANDOM.sample(ROLES, 2)
    setups: dict[Role, Setup] = {role: Setup() for role in order}
    measured: dict[str, Any] = {}
    with ExitStack() as stack:
        sides = start(setting, index, order, stack)
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
        alone = _operator_alone(setting, sides) if index == 0 else None
        tried = correctness.run(setting=setting, sides=sides, replicate=index) if tries else None
    return {
        "order": list(order),
        "setup": {role: setup.as_data() for role, setup in setups.items()},
        "workloads": [measured[workload["name"]] for workload in workloads],
        "correctness": tried,
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


def _operator_alone(
    setting: Setting, sides: dict[Role, SideProcess]
) -> list[dict[str, Any]] | None:
    """Rounds of the operator alone, in each shape that a workload's step calls it in.

    None where the protocol asks for none.
    """
    rounds = setting.protocol["operator_rounds"]
    if rounds == 0 or setting.reference is None:
        return None
    with setting.phases.of("operator_alone", whole=True):
        plan = RoundPlan(rounds=rounds, level="operator")
        return [
            {
                **_pairs(setting, sides, 0, [{**workload, "axes": dict(slot.axes)}], plan)[0],
                "slot": index,
            }
            for workload in setting.document["workloads"]
            for index, slot in enumerate(
                operators.slots(setting.document["operator"], workload["axes"])
            )
        ]


def _pairs(
    setting: Setting,
    sides: dict[Role, SideProcess],
    index: int,
    workloads: Sequence[dict[str, Any]],
    plan: RoundPlan,
) -> list[dict[str, Any]]:
    return [
        observations.pair(
            pairs.measure(
                setting=setting, sides=sides, replicate=index, workload=workload, plan=plan
            )
        )
        for workload in workloads
    ]


def same_code(
    setting: Setting, index: int, workloads: Sequence[dict[str, Any]], rounds: int
) -> list[dict[str, Any]]:
    """Measure an A/A pair: two fresh baselines, `rounds` rounds of each workload.

    `index` numbers the processes. Any finding is the baseline's.
    """
    order: list[Role] = _RANDOM.sample(ROLES, 2)
    with setting.phases.of("same_code", whole=True), ExitStack() as stack:
        sides = start(setting, index, order, stack, runs=dict.fromkeys(order, "baseline"))
        try:
            return _pairs(setting, sides, index, workloads, RoundPlan(rounds=rounds))
        except Caught as caught:
            said = caught.finding.message.replace("the candidate", "the baseline", 1)
            raise Caught(replace(caught.finding, side="baseline", message=said)) from caught


def start(
    setting: Setting,
    index: int,
    order: list[Role],
    stack: ExitStack,
    runs: Mapping[Role, Role] = _OWN,
) -> dict[Role, SideProcess]:
    """Start both processes at once, so that their imports overlap.

    `runs` names whose code each of them runs.
    """
    folder = stack.enter_context(folders.temporary(inside=setting.scratch))
    # The side's user passes through here to its own folder.
    folder.chmod(0o711)
    sides: dict[Role, SideProcess] = {}
    with setting.phases.of("starting"):
        for role in order:
            sides[role] = stack.enter_context(
                SideProcess(
                    role=role,
                    replicate=index,
                    scratch=folder / role,
                    sandbox=_sandbox(setting, role, runs[role]),
                    threads=setting.threads,
                    stops_when_idle=setting.device.freezes_idle_side,
                )
            )
            sides[role].start(_start_message(setting, runs[role]))
        for side in sides.values():
            side.started()
    return sides


def _sandbox(setting: Setting, role: Role, code: Role) -> Sandbox:
    """The sandbox of a role; other code than the role's own gets an empty cache.

    A candidate could leave compiled code in its cache for the A/A pair's baseline, to have it
    caught or to fail a control rather than miss its target.
    """
    sandbox = setting.sandboxes.by_role[role]
    return sandbox if code == role else sandbox.apart(setting.scratch / f"{role}.runs.{code}.cache")


def _start_message(setting: Setting, role: Role) -> dict[str, Any]:
    document = setting.document
    mine = (
        {"candidate": str(setting.candidate)}
        if role == "candidate"
        else {"baseline": document["baseline"]["name"]}
    )
    return {
        "operator": document["operator"],
        "launch": document["program"]["launch"],
        "device": setting.device.kind,
        "threads": setting.threads,
        "address_space_bytes": isolation.address_space_bytes(setting.device),
        **mine,
    }
