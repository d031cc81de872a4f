"""The places at which tests kill the process are the ones that are listed, and do kill it."""

from __future__ import annotations

import ast
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import override_settings

from engagements import faults

APPLICATION = Path(faults.__file__).parent


def calls() -> Iterator[ast.Call]:
    """Every call of `faults.point` in the application."""
    for file in sorted(APPLICATION.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "faults.point":
                yield node


def test_every_point_is_listed_and_every_listed_point_is_called() -> None:
    called = [ast.literal_eval(call.args[0]) for call in calls()]
    assert sorted(called) == sorted(faults.POINTS)


@pytest.mark.parametrize("named", ["settle.paid", None, "settle"])
def test_a_point_kills_the_process_that_names_it_and_no_other(named: str | None) -> None:
    child = os.fork()
    if child == 0:
        with override_settings(TWOFOLD_FAULT=named):
            faults.point("settle.paid")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if named == "settle.paid":
        assert os.WTERMSIG(status) == signal.SIGKILL
    else:
        assert status == 0
