"""No float comes near money: not in a line of code, not in a column."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.db import connection

ROOT = Path(__file__).resolve().parents[3] / "engagements"
# What is measured is a float, and stands beside amounts here: packages, modules, definitions.
MEASURED = {
    "audit": "what a kernel would be worth: estimates from measured shares, never billed",
    "charts": "what was measured, drawn to a scale",
    "evidence": "what was measured on the customer's machines",
    "pitch": "a vendor's claims: estimates, never billed",
    "common/ratios.py": "measured and agreed ratios",
    "common/wordings.py": "the similarity of two texts",
    "contracts/forms.py::SealBenchmarkForm": "the benchmark's document has its target as JSON",
    "documents/formatting.py::share": "the confidence of an interval",
    "migrations": "generated from the models; the columns have a test of their own",
    "runs/history_views.py::_decimal": "a measured ratio, rounded for a cell of a CSV file",
    "templatetags/bars.py": "ratios and their interval, drawn to a scale",
    "templatetags/show.py": "ratios and shares beside amounts, each by a filter of its own",
    "workbench": "shares, hours and ratios; the fee is read as an amount",
}
MONEY = {"decimal", "engagements.common.money", "moneyed"}


def takes_money(tree: ast.Module) -> bool:
    """Whether the module imports exact numbers or the module of money."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(name.name in MONEY for name in node.names):
            return True
        if isinstance(node, ast.ImportFrom):
            names = {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
            if names & MONEY:
                return True
    return False


def has_amounts(tree: ast.Module) -> bool:
    """Whether a model of the module keeps amounts."""
    return any(isinstance(n, ast.Attribute) and n.attr == "DecimalField" for n in ast.walk(tree))


def floats_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every place where a number could lose a digit: line and what stands there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            yield node.lineno, repr(node.value)
        elif isinstance(node, ast.Name) and node.id in ("float", "round"):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and node.attr in ("FloatField", "from_float"):
            yield node.lineno, node.attr
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            modules = [getattr(node, "module", None), *(name.name for name in node.names)]
            if {"math", "numpy", "pandas", "statistics"} & set(modules):
                yield node.lineno, ast.unparse(node)


@cache
def money_modules() -> dict[str, ast.Module]:
    """Every module of the application that handles amounts, by its path."""
    trees = {
        str(file.relative_to(ROOT)): ast.parse(file.read_text())
        for file in sorted(ROOT.rglob("*.py"))
    }
    return {name: tree for name, tree in trees.items() if takes_money(tree) or has_amounts(tree)}


def is_measured(module: str, definition: str) -> bool:
    """Whether floats are right there, and why is written above."""
    package = module.split("/")[0]
    return not MEASURED.keys().isdisjoint({package, module, f"{module}::{definition}"})


def test_no_module_that_handles_amounts_knows_floats() -> None:
    found = [
        f"{module}:{line}: {what}"
        for module, tree in money_modules().items()
        for part in tree.body
        if not is_measured(module, getattr(part, "name", ""))
        for line, what in floats_in(part)
    ]
    assert found == []


def test_the_modules_of_money_are_among_those_that_are_read() -> None:
    assert {
        "billing/milestones.py",
        "billing/models.py",
        "common/amount_fields.py",
        "common/money.py",
        "ledger/models.py",
        "settlements/models.py",
        "settlements/services.py",
    } <= money_modules().keys()


@pytest.mark.parametrize(
    "line",
    [
        "fee = 0.19 * net",
        "fee = float(net)",
        "fee = round(net, 2)",
        "fee = models.FloatField()",
        "fee = Decimal.from_float(net)",
        "import math",
        "from numpy import floor",
        "def fee(net: float | None) -> None: ...",
    ],
)
def test_a_float_would_be_seen(line: str) -> None:
    assert list(floats_in(ast.parse(line)))


def test_every_column_of_a_table_with_amounts_is_exact(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT approximate.table_name || '.' || approximate.column_name
            FROM information_schema.columns AS approximate
            WHERE approximate.data_type IN ('double precision', 'real', 'money')
              AND EXISTS (
                SELECT 1 FROM information_schema.columns AS exact
                WHERE exact.table_name = approximate.table_name AND exact.data_type = 'numeric'
                  AND exact.table_schema = 'public')
            """
        )
        assert cursor.fetchall() == []
