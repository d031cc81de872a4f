"""The auditor's page names only rules, refusals and tests that exist."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

from django.test import Client
from django.urls import reverse

from engagements.finance import controls
from tests.engagements.world import World

ROOT = Path(__file__).parents[3]


def codes_in_services() -> str:
    """The source of every service, in which the codes stand."""
    found = subprocess.run(
        ["git", "ls-files", "engagements/**.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    files = [
        ROOT / name for name in found.stdout.split() if name != "engagements/finance/controls.py"
    ]
    return "\n".join(file.read_text() for file in files if file.exists())


def proves(proof: str) -> bool:
    """Whether the test, or the file of tests, exists."""
    file, _, name = proof.partition("::")
    tree = ast.parse((ROOT / file).read_text())
    tests = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    return not name or name in tests


def test_every_control_is_enforced_and_proved(client: Client, world: World) -> None:
    source = codes_in_services()
    for control in controls.CONTROLS:
        kind, _, reason = control.service.partition(".")
        is_proposal = reason == "same_person" and f'KIND = "{kind}"' in source
        assert is_proposal or f'"{control.service}"' in source
        assert control.enforced_by
        assert proves(control.proof)
    assert all(proves(principle.proof) for principle in controls.PRINCIPLES)
    client.force_login(world.admin)
    page = client.get(reverse("controls")).content.decode()
    assert all(control.service in page for control in controls.CONTROLS)
    client.force_login(world.stranger)
    assert client.get(reverse("controls")).status_code == 404


def test_only_finance_moves_money_and_only_admins_manage_users() -> None:
    allowed = dict(controls.capabilities())
    assert [True, False, True] in allowed.values()
    assert sorted(sum(row) for row in allowed.values()) == [1, 1, 2, 2, 3]
