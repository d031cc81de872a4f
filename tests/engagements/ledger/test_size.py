"""The ledger's pages at a size: by the number of queries and their plans, not by the clock."""

from __future__ import annotations

import pytest

from engagements.finance import measuring
from engagements.finance.measuring import Measured
from engagements.ledger import queries as ledger
from tests.engagements.world import World


@pytest.fixture
def pages(world: World, monkeypatch: pytest.MonkeyPatch) -> dict[str, Measured]:
    """What every page read, with 8,000 legs of 400 engagements."""
    monkeypatch.setattr(measuring, "REPEATS", 1)
    with measuring.made_up(legs=8_000, engagements=400) as count:
        assert count == 8_000
        assert ledger.wrong_totals() == []
        return {page.name: page for page in measuring.measure_all()}


def test_no_page_reads_all_legs_and_none_takes_more_queries_for_more(
    pages: dict[str, Measured],
) -> None:
    assert {name: page.query_count for name, page in pages.items()} == {
        "trial balance, no month closed": 3,
        "account, newest legs": 3,
        "account, by engagement": 2,
        "money at risk": 5,
        "one engagement": 6,
        "trial balance, past months closed": 4,
    }
    plans = {name: " ".join(page.plan) for name, page in pages.items()}
    for name, plan in plans.items():
        assert "Seq Scan on engagements_leg" not in plan, name
        assert "Seq Scan on engagements_entry" not in plan, name
    for name in ("trial balance, no month closed", "trial balance, past months closed"):
        assert "engagements_leg" not in plans[name]
    assert "Index Scan Backward using leg_of_account" in plans["account, newest legs"]
    closed = plans["trial balance, past months closed"]
    assert "month_total_by_account" in closed
    assert "Seq Scan on engagements_monthtotal" not in closed
