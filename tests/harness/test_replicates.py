"""What a replicate asks of its workloads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchmarks.harness.rounds.settings import Setting
from benchmarks.harness.runs import replicates


def renewed(*, rounds: int, state: list[Any]) -> list[str]:
    """The workloads whose state gets new contents."""
    setting = SimpleNamespace(
        protocol={"rounds": rounds},
        document={"workloads": [{"name": "long"}, {"name": "short"}]},
        definition={"program_state": state},
    )
    plans = replicates._plans(cast(Setting, setting))
    assert set(plans) == {"long", "short"}
    return [name for name, plan in plans.items() if plan.renews_state]


def test_the_state_of_one_workload_is_renewed() -> None:
    assert len(renewed(rounds=2, state=["weights"])) == 1


@pytest.mark.parametrize(("rounds", "state"), [(1, ["weights"]), (6, [])])
def test_without_two_rounds_or_without_state_none_is(rounds: int, state: list[Any]) -> None:
    assert renewed(rounds=rounds, state=state) == []
