"""When the fee and the audit are revenue, and what credit notes take from them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from engagements import closing
from engagements.billing import credit_notes, reversals, write_offs
from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.milestones import services as milestones
from engagements.contracts.models import ContractVersion
from engagements.ledger.models import Entry
from engagements.ledger.positions import positions_of
from tests.engagements.world import World, fresh, today

FEE, AUDIT = 42000, 6000


def balances(contract: ContractVersion) -> dict[str, int]:
    """The accounts of the contract's engagement that are not zero, debit positive."""
    position = positions_of(contract.engagement, contract.currency)
    return {code: int(balance) for code, balance in position.balances.items() if balance}


def bill_and_pay(world: World, contract: ContractVersion) -> None:
    milestones.accept_handover(engagement=contract.engagement, by=world.signatory)
    for milestone in contract.milestones.exclude(state="billed").order_by("position"):
        world.pay(milestone)


@pytest.mark.parametrize("paid", [0, 1, 2])
def test_the_whole_fee_is_revenue_on_the_day_of_the_verdict_billed_or_not(
    world: World, paid: int
) -> None:
    contract = world.met(paid=paid)
    entry = Entry.objects.get(kind=Entry.Kind.TARGET_MET)
    assert entry.dated_on == today()
    after = balances(contract)
    assert (after["fee_revenue"], after["audit_revenue"]) == (-FEE, -AUDIT)
    assert not {"fees_deferred", "refund_liability"} & after.keys()
    unbilled = after["fees_unbilled"] + after.get("audit_unbilled", 0)
    assert unbilled == (48000, 36000, 30000)[paid]
    bill_and_pay(world, contract)
    assert balances(contract) == {
        "suspense": 57120,
        "fee_revenue": -FEE,
        "audit_revenue": -AUDIT,
        "output_tax": -9120,
    }


def test_nothing_of_the_fee_is_revenue_before_the_verdict(world: World) -> None:
    contract = world.active()
    world.pay(contract.milestones.get(position=1))
    world.bill(contract.milestones.get(position=2))
    before = balances(contract)
    assert "fee_revenue" not in before
    assert (before["fees_deferred"], before["refund_liability"]) == (-6000, -6000)


def test_an_audit_credited_after_met_reduces_audit_revenue(world: World) -> None:
    contract = world.met(paid=2)
    invoice = contract.milestones.get(position=2).invoice_lines.get().invoice
    credit_notes.credit(invoice=invoice, reason="Goodwill", net=Decimal(1000))
    assert balances(contract)["audit_revenue"] == -AUDIT + 1000
    credit_notes.credit(invoice=invoice, reason="Goodwill")
    after = balances(contract)
    assert (after["fee_revenue"], after.get("audit_revenue", 0)) == (-FEE, 0)
    assert "audit_unbilled" not in after


def test_an_audit_credited_before_met_and_billed_no_more_is_no_revenue(world: World) -> None:
    parts = [
        MilestoneDraft("Fee", Decimal(42000), "signed"),
        MilestoneDraft("Audit", Decimal(6000), "audit_delivered"),
    ]
    contract = world.active(milestones=parts)
    invoice = world.invoice(*contract.milestones.all())
    credit_notes.credit(invoice=invoice, reason="Goodwill", net=Decimal(43000))
    assert balances(contract)["audit_unbilled"] == 1000
    world.conclude(world.request(contract), "met")
    after = balances(contract)
    assert (after["audit_revenue"], after.get("audit_unbilled", 0)) == (-5000, 0)


def test_a_fee_credited_after_met_reduces_fee_revenue_unless_it_is_billed_again(
    world: World,
) -> None:
    contract = world.met(paid=2)
    target = contract.milestones.get(position=3)
    invoice = world.invoice(target)
    credit_notes.credit(invoice=invoice, reason="Typo", bill_again=True)
    again = balances(contract)
    assert (again["fee_revenue"], again["fees_unbilled"]) == (-FEE, 30000)
    invoice = world.invoice(type(target).objects.get(pk=target.pk))
    assert balances(contract)["fees_unbilled"] == 8000
    credit_notes.credit(invoice=invoice, reason="Rebate", net=Decimal(2000))
    assert balances(contract)["fee_revenue"] == -FEE + 2000
    assert fresh(contract.engagement).stage == "met"


def test_a_contract_that_agrees_a_lower_audit_cost_reduces_audit_revenue(world: World) -> None:
    engagement = world.audited()
    assert positions_of(engagement, "EUR").balance("audit_unbilled") == AUDIT
    contract = world.active(engagement, audit_cost=Decimal(1000))
    assert balances(contract) == {"audit_unbilled": 1000, "audit_revenue": -1000}
    world.conclude(world.request(contract), "met")
    bill_and_pay(world, contract)
    assert closing.close(engagement=contract.engagement, by=world.consultant).stage == "closed"


def test_a_payment_reversed_after_a_write_off_leaves_a_met_fee_revenue(world: World) -> None:
    contract = world.met(paid=2)
    invoice = world.invoice(contract.milestones.get(position=3))
    world.paid_beyond(invoice, Decimal(1), "P-1")
    loss = write_offs.propose(
        invoice=invoice,
        kind="bank_charges",
        amount=invoice.gross - 1,
        reason="Kept by banks.",
        by=world.finance,
    )
    write_offs.approve(write_off=loss, by=world.controller)
    reversal = reversals.propose(
        payment=invoice.payments.get(),
        cause="mistyped",
        reason="Twice.",
        dated_on=today(),
        by=world.finance,
    )
    reversals.approve(reversal=reversal, by=world.controller)
    after = balances(contract)
    assert not {"fees_deferred", "refund_liability"} & set(after)
    assert after["receivables"] == 1
