"""One replicate: a fresh pair of processes, every workload, and then they are gone."""

from __future__ import annotations

import random
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.harness import isolation, pairs
from benchmarks.harness.failures import Role
from benchmarks.harness.pairs import Setup
from benchmarks.harness.processes import SideProcess
from benchmarks.harness.progress import Progress
from benchmarks.harness.settings import Setting

_RANDOM = random.SystemRandom()
_ROLES: tuple[Role, Role] = ("baseline", "candidate")


def measure(
    *, setting: Setting, index: int, calls: dict[str, int], progress: Progress
) -> dict[str, Any]:
    """Measure replicate `index` (from 0); returns the record's entry.

    `calls` holds each workload's calls a round and is filled by the first replicate, so that
    all replicates do the same. Raises SideFailed or Caught.
    """
    order: list[Role] = _RANDOM.sample(_ROLES, 2)
    setups: dict[Role, Setup] = {role: Setup() for role in order}
    measured: dict[str, Any] = {}
    with ExitStack() as stack:
        sides = _start(setting, index, order, stack)
        workloads = setting.document["workloads"]
        for workload in _RANDOM.sample(workloads, len(workloads)):
            name = workload["name"]
            entry = pairs.measure(
                setting=setting,
                sides=sides,
                setups=setups,
                replicate=index,
                workload=workload,
                calls=calls.get(name),
                on_round=progress.rounds_of(replicate=index, workload=name),
            )
            calls[name] = entry["calls"]
            measured[name] = entry
    return {
        "order": list(order),
        "setup": {role: setup.as_data() for role, setup in setups.items()},
        "workloads": [measured[workload["name"]] for workload in workloads],
    }


def _start(
    setting: Setting, index: int, order: list[Role], stack: ExitStack
) -> dict[Role, SideProcess]:
    """Start both processes at once; their imports overlap, their setup does not."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=setting.scratch)))
    sides: dict[Role, SideProcess] = {}
    for role in order:
        cache = setting.scratch / f"{role}.cache"
        cache.mkdir(exist_ok=True)
        sides[role] = stack.enter_context(
            SideProcess(
                role=role,
                replicate=index,
                scratch=folder / role,
                cache=cache,
                threads=setting.threads,
                stops_when_idle=setting.device.freezes_idle_side,
            )
        )
        sides[role].start(_start_message(setting, role))
    for side in sides.values():
        side.started()
    return sides


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
