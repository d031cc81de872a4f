"""A ratio above its ceiling is explained where it is shown."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from engagements.runs import ceilings
from engagements.runs.history import History
from tests.engagements.charts import measured

ENGAGEMENT: Any = object()


def _record(ratio: float) -> dict[str, Any]:
    record = measured.record()
    return {**record, "summary": {**record["summary"], "ratio": ratio}}


@pytest.mark.parametrize(("audit", "named"), [(None, 1), (2.0, 2), (1e9, 1)])
def test_a_ratio_above_a_ceiling_names_each_that_it_exceeds(
    audit: float | None, named: int
) -> None:
    own = ceilings.own_ceiling(_record(1.0))
    assert own is not None
    with mock.patch.object(ceilings, "audit_ceiling", return_value=audit):
        said = ceilings.exceeded(ENGAGEMENT, _record(own + 0.01))
        assert said.count("above") == named
        assert ceilings.exceeded(ENGAGEMENT, _record(min(own, audit or own) - 0.01)) == ""


@pytest.mark.parametrize(("ceiling", "runs"), [(2.0, ["7", "9"]), (9.0, []), (None, [])])
def test_the_history_names_the_runs_above_the_ceiling(
    ceiling: float | None, runs: list[str]
) -> None:
    rows: list[Any] = [
        SimpleNamespace(run=SimpleNamespace(pk=pk), ratio=ratio)
        for pk, ratio in ((7, 2.1), (8, None), (9, 2.2), (10, 1.9))
    ]
    history = History(
        benchmark=None,
        workload="",
        workloads=[],
        rows=rows,
        target=2.0,
        ceiling=ceiling,
        points=[],
        target_y="",
        even_y="",
        ceiling_y=None,
    )
    assert [pk for pk in ("7", "8", "9", "10") if pk in history.exceeded.split(".")[0]] == runs
