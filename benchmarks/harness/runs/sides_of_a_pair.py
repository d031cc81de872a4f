"""Start the two processes of a replicate or of an A/A pair."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

from benchmarks.harness.devices import rank_layouts
from benchmarks.harness.failures import ROLES, Role
from benchmarks.harness.rounds.settings import Setting
from benchmarks.harness.sides import folders, isolation
from benchmarks.harness.sides.processes import SideProcess
from benchmarks.harness.sides.rank_groups import RankGroup
from benchmarks.harness.sides.sandboxes import Sandbox

_OWN: Mapping[Role, Role] = {role: role for role in ROLES}


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
                _process(setting)(
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


def _process(setting: Setting) -> Callable[..., SideProcess]:
    ranks = rank_layouts.count(setting.document)
    return SideProcess if ranks == 1 else partial(RankGroup, channels=ranks)


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
