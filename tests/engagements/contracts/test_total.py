"""The contract's total is what is invoiced, to the cent, however the fee is split and billed."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engagements.billing.milestones import milestone_lines
from engagements.common import money
from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.terms import terms_of
from engagements.settlements import calculation, services
from tests.engagements.world import World, undone

D = Decimal
PARTS = ("2000.03", "2000.03", "2000.03", "2000.03", "1999.88")


@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=8), st.integers(0, 3000))
def test_the_tax_of_the_parts_is_the_tax_of_the_whole(cents: list[int], rate: int) -> None:
    parts, percent = [D(each) / 100 for each in cents], D(rate) / 100
    shares = money.tax_shares(parts, percent, "EUR")
    assert sum(shares) == money.tax_on(sum(parts, D(0)), percent, "EUR")
    for part, share in zip(parts, shares, strict=True):
        assert abs(share - money.tax_on(part, percent, "EUR")) <= D("0.01")


def test_a_fee_in_five_parts_is_sealed_shown_and_billed_alike(world: World) -> None:
    contract = world.active(
        fee=D(10000),
        audit_cost=D("2000.03"),
        milestones=[
            MilestoneDraft(f"Part {at}", D(part), "audit_delivered" if at == 1 else "signed")
            for at, part in enumerate(PARTS)
        ],
    )
    terms = terms_of(contract)
    assert terms["text"]["schedules"][0]["rows"][-1][-1] == "11,900.00"
    assert sum(line.gross for line in milestone_lines(contract.engagement)) == D(11900)
    rows = list(contract.milestones.order_by("position"))
    for split in ([[each] for each in rows], [rows], [rows[3:], rows[:3]], [rows[::2], rows[1::2]]):
        with undone():
            invoices = [world.invoice(*part) for part in split]
            assert sum(invoice.gross for invoice in invoices) == D(11900)


@pytest.mark.parametrize("code", ["XXX", "XAU", "XTS", "DEM", "HRK", "BGN", "ABC"])
def test_only_currencies_in_use_are_money(code: str) -> None:
    with pytest.raises(money.UnknownCurrency):
        money.minor_digits(code)
    assert [money.minor_digits(each) for each in ("EUR", "JPY", "KWD", "XAF")] == [2, 0, 3, 0]


def test_without_an_audit_milestone_no_unbillable_balance_is_due(
    world: World,
) -> None:
    contract = world.active(
        milestones=[MilestoneDraft("Target", D(48000), "target_met")],
    )
    world.conclude(world.request(contract), "missed")
    settlement = contract.settlements.get()
    assert (settlement.audit_cost, settlement.balance_due, settlement.refund) == (0, 0, 0)
    assert calculation.preview(contract=contract).balance_due == 0
    services.void(settlement=settlement, reason="Wrong.", by=world.finance)
    again, twice = (
        services.propose(contract=contract, reason="missed", by=world.finance) for _ in range(2)
    )
    assert again == twice
