"""What a settlement keeps and credits, and what the books then say."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from engagements.billing.models import Invoice
from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.ledger import queries as ledger
from engagements.ledger.positions import positions_of
from engagements.payouts import refunds
from engagements.settlements import calculation
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements.world import World, received, today
from tests.errors import declined

D = Decimal
Kind = Invoice.Kind


def where_it_stands(contract: ContractVersion) -> dict[str, D]:
    """The engagement's accounts that do not stand at nothing, debit positive."""
    position = positions_of(contract.engagement, contract.currency)
    return {code: balance for code, balance in position.balances.items() if balance}


def settled(world: World, settlement: Settlement) -> Settlement:
    row = settlements.approve(settlement=settlement, by=world.controller)
    return refunds.mark_paid(settlement=row, reference="REFUND-1", by=world.finance)


def credited(contract: ContractVersion) -> D:
    notes = Invoice.objects.filter(engagement=contract.engagement, kind=Kind.CREDIT_NOTE)
    return sum((note.gross for note in notes), D(0))


def test_fees_are_a_refund_liability_until_the_verdict_and_the_audit_is_earned(
    world: World,
) -> None:
    contract = world.active()
    assert where_it_stands(contract) == {"audit_unbilled": D(6000), "audit_revenue": D(-6000)}
    world.pay(contract.milestones.get(position=1))
    assert where_it_stands(contract) == {
        "suspense": D(14280),
        "audit_revenue": D(-6000),
        "refund_liability": D(-6000),
        "output_tax": D(-2280),
    }


def test_once_it_is_paid_the_books_hold_the_audit_and_nothing_else(world: World) -> None:
    contract = world.missed()
    settled(world, contract.settlements.get())
    assert where_it_stands(contract) == {
        "suspense": D(7140),
        "audit_revenue": D(-6000),
        "output_tax": D(-1140),
    }
    assert ledger.wrong_totals() == []


def test_what_nobody_paid_is_cancelled_at_the_proposal_and_the_rest_at_the_approval(
    world: World,
) -> None:
    contract = world.active()
    first, audit = contract.milestones.order_by("position")[:2]
    world.pay(first, amount=D(10000))
    world.bill(audit)
    world.conclude(world.request(contract), "missed")
    settlement = contract.settlements.get()
    # Of the first invoice 4,280 was open; the audit's own line stays and is covered by the rest.
    assert [note.gross for note in settlement.credit_notes.all()] == [D(4280)]
    assert (settlement.refund, settlement.balance_due) == (D(2860), D(0))
    settled(world, settlement)
    assert credited(contract) == D(14280)
    assert Milestone.objects.get(pk=audit.pk).state == Milestone.State.BILLED
    assert where_it_stands(contract) == {
        "suspense": D(7140),
        "audit_revenue": D(-6000),
        "output_tax": D(-1140),
    }


@pytest.mark.parametrize(
    ("paid", "refund", "due"),
    [("0", "0", "7140"), ("7139.99", "0", "0.01"), ("7140", "0", "0"), ("7140.01", "0.01", "0")],
)
def test_the_audit_costs_as_much_as_was_paid_or_more(
    world: World, paid: str, refund: str, due: str
) -> None:
    contract = world.active()
    milestone = contract.milestones.get(position=1)
    if D(paid):
        world.pay(milestone, amount=D(paid))
    world.conclude(world.request(contract), "missed")
    settlement = contract.settlements.get()
    assert (settlement.refund, settlement.balance_due) == (D(refund), D(due))
    settled(world, settlement)
    stands = where_it_stands(contract)
    assert stands["audit_revenue"] == D(-6000)
    assert "refund_liability" not in stands
    assert "refund_payable" not in stands
    if D(paid):
        assert stands.get("receivables", D(0)) == D(due)


def test_an_overpayment_is_refunded_in_full(world: World) -> None:
    contract = world.active()
    invoice = world.invoice(contract.milestones.get(position=1))
    received(
        invoice=invoice,
        amount=invoice.gross + D(500),
        received_on=today(),
        reference="TOO-MUCH",
        may_exceed=True,
        by=world.finance,
        confirmed_by=world.controller,
    )
    world.conclude(world.request(contract), "missed")
    settlement = contract.settlements.get()
    assert settlement.refund == D("7640")
    settled(world, settlement)
    assert where_it_stands(contract)["suspense"] == D(7140)


CASES: list[tuple[str, dict[str, Any]]] = [
    ("EUR", {"tax_treatment": "zero", "tax_rate_percent": D("0"), "tax_note": "Zero rate."}),
    (
        "EUR",
        {
            "tax_treatment": "reverse_charge",
            "tax_rate_percent": D("0"),
            "tax_note": "Reverse charge",
        },
    ),
    ("JPY", {"tax_rate_percent": D("10"), "fee": D("10001"), "audit_cost": D("3333")}),
    ("KWD", {"tax_rate_percent": D("7.7"), "fee": D("100.001"), "audit_cost": D("33.333")}),
    ("USD", {"tax_rate_percent": D("8.88"), "fee": D("100.01"), "audit_cost": D("33.33")}),
]


@pytest.mark.parametrize(("currency", "terms"), CASES)
def test_thirds_zero_tax_and_reverse_charge_come_out_to_the_last_unit(
    world: World, currency: str, terms: dict[str, Any]
) -> None:
    if "fee" in terms:
        third = terms["audit_cost"]
        rest = terms["fee"] - 2 * third
        parts = [("A", third, "signed"), ("B", third, "audit_delivered"), ("C", rest, "target_met")]
        terms = terms | {"milestones": [MilestoneDraft(*part) for part in parts]}
    world.customer.vat_id = "FR40303265045"
    world.customer.save()
    contract = world.missed(currency=currency, **terms)
    settlement = settled(world, contract.settlements.get())
    kept = settlement.audit_cost + settlement.audit_tax
    assert settlement.refund + kept == settlement.payments_received
    stands = where_it_stands(contract)
    assert stands["suspense"] == kept
    assert stands["audit_revenue"] == -settlement.audit_cost
    assert stands.get("output_tax", D(0)) == -settlement.audit_tax
    assert set(stands) <= {"suspense", "audit_revenue", "output_tax"}


def test_the_preview_says_what_will_happen(world: World) -> None:
    contract = world.active()
    for milestone in contract.milestones.order_by("position")[:2]:
        world.pay(milestone)
    planned = calculation.preview(contract=contract)
    world.conclude(world.request(contract), "missed")
    settlement = settled(world, contract.settlements.get())
    notes = [*planned.credits.cancelled, *planned.credits.refunded]
    assert [note.gross for note in notes] == [n.gross for n in settlement.credit_notes.all()]
    void = Milestone.objects.filter(contract_version=contract, state="void")
    assert {m.title for m in planned.void} <= {m.title for m in void}
    came = contract.engagement.entries.order_by("pk").filter(pk__gt=0)
    posted = [
        {leg.account.code: leg.amount for leg in entry.legs.all()}
        for entry in came.exclude(
            kind__in=["audit_delivered", "invoice_issued", "payment_received"]
        )
    ]
    assert posted == [
        {code: amount for code, amount in entry.effect.items() if amount}
        for entry in planned.entries
    ]


def test_a_payment_after_the_proposal_stops_the_approval(world: World) -> None:
    contract = world.active()
    world.pay(contract.milestones.get(position=1))
    late = world.invoice(contract.milestones.get(position=2))
    world.conclude(world.request(contract), "missed")
    settlement = contract.settlements.get()
    received(
        invoice=late,
        amount=late.gross,
        received_on=today(),
        reference="LATE",
        by=world.finance,
        confirmed_by=world.controller,
        may_exceed=True,
    )
    with declined("settlement.outdated"):
        settlements.approve(settlement=settlement, by=world.controller)
    settlements.void(settlement=settlement, reason="A payment came in", by=world.controller)
    anew = settlements.propose(contract=contract, reason="missed", by=world.finance)
    assert anew.refund == D(14280)
    settled(world, anew)
    assert where_it_stands(contract)["suspense"] == D(7140)


def test_what_was_kept_can_still_go_back_by_a_further_settlement(world: World) -> None:
    contract = world.missed()
    first = settled(world, contract.settlements.get())
    with declined("settlement.already_settled"):
        settlements.propose(contract=contract, reason="missed", by=world.finance)
    with declined("settlement.nothing_to_refund"):
        settlements.propose(contract=contract, reason="further", note="Why not", by=world.finance)
    further = settlements.propose(
        contract=contract,
        reason="further",
        note="The audit named the wrong kernel.",
        audit_cost=D(0),
        by=world.finance,
    )
    assert (further.refunded_before, further.refund) == (first.refund, D(7140))
    settled(world, further)
    assert where_it_stands(contract) == {}


def test_half_of_the_audit_may_be_refunded_but_never_more_than_was_paid(world: World) -> None:
    contract = world.missed()
    settled(world, contract.settlements.get())
    terms: dict[str, Any] = {
        "contract": contract,
        "reason": "further",
        "note": "Goodwill",
        "by": world.finance,
    }
    with declined("settlement.audit_cost_exceeded"):
        settlements.propose(**terms, audit_cost=D(6001))
    with declined("settlement.audit_cost_exceeded"):
        settlements.propose(**terms, audit_cost=D(-1))
    settled(world, settlements.propose(**terms, audit_cost=D(3000)))
    gone = sum(row.refund for row in contract.settlements.filter(state="paid"))
    assert gone == D("17850")
    assert where_it_stands(contract) == {
        "suspense": D(3570),
        "audit_revenue": D(-3000),
        "output_tax": D(-570),
    }


def test_voiding_an_approved_settlement_puts_the_refund_back_among_what_is_owed(
    world: World,
) -> None:
    contract = world.missed()
    settlement = settlements.approve(settlement=contract.settlements.get(), by=world.controller)
    settlements.void(settlement=settlement, reason="Wrong account", by=world.controller)
    stands = where_it_stands(contract)
    assert stands["receivables"] == -settlement.refund
    anew = settlements.propose(contract=contract, reason="missed", by=world.finance)
    assert anew.refund == settlement.refund
    settled(world, anew)
    assert where_it_stands(contract)["suspense"] == D(7140)


def test_a_preview_takes_as_many_queries_for_more_invoices(world: World) -> None:
    contract = world.active()
    counts = []
    for milestone in contract.milestones.order_by("position")[:2]:
        world.pay(milestone)
        with CaptureQueriesContext(connection) as queries:
            calculation.preview(contract=contract)
        counts.append(len(queries))
    assert counts[0] == counts[1]
