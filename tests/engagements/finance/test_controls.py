"""The auditor's page names only rules, refusals and tests that exist."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

from django.test import Client
from django.urls import reverse

from engagements.finance import controls, steps
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


# Where services bill, move or book money.
MONEY = (
    *("billing", "charges", "closing", "finance/grants", "ledger", "orders", "payouts"),
    *("settlements", "terminations"),
)
# What a service calls, by who may call it.
REQUIRES = {
    steps.FINANCE: {"require_finance", "is_finance"},
    steps.CONSULTANT: {"require_consultant"},
    steps.SIGNATORY: {"require_signatory", "may_sign"},
    steps.ADMIN: {"is_admin"},
    steps.STAFF: {"is_staff_member"},
    steps.PROPOSERS: {"is_consultant"},
    steps.SETTERS: {"may_sign", "require_finance"},
}


def functions(module: str) -> dict[str, ast.FunctionDef]:
    """The functions of a module below `engagements`, by name."""
    tree = ast.parse((ROOT / "engagements" / f"{module.replace('.', '/')}.py").read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def calls(name: str, of: dict[str, ast.FunctionDef]) -> set[str]:
    """The names that a function calls, with those of its module's own private functions."""
    found = {
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for node in ast.walk(of[name])
        if isinstance(node, ast.Call)
    }
    private = {each for each in found if each.startswith("_") and each in of and each != name}
    return found.union(*(calls(each, of) for each in private))


def test_every_service_with_money_is_on_the_page() -> None:
    written = set()
    for name in codes_of_money():
        for function, node in functions(name).items():
            arguments = {argument.arg for argument in node.args.kwonlyargs}
            is_atomic = any("atomic" in ast.unparse(each) for each in node.decorator_list)
            if "by" in arguments and is_atomic and not function.startswith("_"):
                written.add(f"{name}.{function}")
    listed = {step.name for step in steps.STEPS}
    assert len(listed) == len(steps.STEPS)
    assert written - listed == set()


def codes_of_money() -> list[str]:
    """The modules with services of money, by their names below `engagements`."""
    folder = ROOT / "engagements"
    found = []
    for place in MONEY:
        one = folder / f"{place}.py"
        files = [one] if one.exists() else sorted((folder / place).rglob("*.py"))
        found += [str(file.relative_to(folder))[:-3].replace("/", ".") for file in files]
    return found


def test_a_service_requires_whom_the_page_names() -> None:
    codes = {control.service for control in controls.CONTROLS}
    for step in steps.STEPS:
        assert step.summary.endswith("."), step.name
        assert step.second in codes | {""}, step.name
        module, _, name = step.name.rpartition(".")
        if step.who != steps.APPLICATION:
            assert calls(name, functions(module)) & REQUIRES[step.who], step.name


def test_only_finance_moves_money_and_only_admins_manage_users() -> None:
    allowed = dict(controls.capabilities())
    assert [True, False, True] in allowed.values()
    assert sorted(sum(row) for row in allowed.values()) == [1, 1, 2, 2, 3]
