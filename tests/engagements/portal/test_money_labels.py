"""What a settlement comes to, in the customer's words."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest

from engagements.payouts import refunds
from engagements.portal.money import settlement_text
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements.world import World


def paid(settlement: Settlement, world: World) -> Settlement:
    settlements.approve(settlement=settlement, by=world.controller)
    return refunds.mark_paid(settlement=settlement, reference="R-1", by=world.finance)


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ("5000", "EUR\xa05,950.00"),
        ("0", "nothing"),
    ],
)
def test_earlier_refunds_are_listed_apart_from_payments(world: World, kept: str, said: str) -> None:
    row = paid(world.settlement(), world)
    what = settlement_text(row).amounts
    assert re.findall(r"EUR\xa0[\d,.]*\d", what) == [
        "EUR\xa021,420.00",
        "EUR\xa07,140.00",
        "EUR\xa014,280.00",
    ]
    further = settlements.propose(
        contract=row.contract_version,
        reason="further",
        note="We were late.",
        audit_cost=Decimal(kept),
        by=world.finance,
    )
    what = settlement_text(further).amounts
    assert re.findall(r"EUR\xa0[\d,.]*\d", what)[:2] == ["EUR\xa021,420.00", "EUR\xa014,280.00"]
    assert said in what


@pytest.mark.parametrize(
    ("parts", "said"),
    [(0, "EUR\xa07,140.00 remains payable"), (1, "We refund the rest, EUR\xa07,140.00")],
)
def test_what_is_owed_depends_on_what_was_paid(world: World, parts: int, said: str) -> None:
    assert said in settlement_text(world.missed(paid=parts).settlements.get()).amounts
