"""Reads that span models say what is so, in a number of queries that does not grow."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from engagements import closing
from engagements.billing import milestones
from engagements.billing.balances import open_invoices
from engagements.billing.milestones import gross, outstanding, received
from engagements.contracts.milestones.models import Milestone
from engagements.finance.at_risk import largest, totals
from engagements.payouts import refunds
from engagements.settlements import queries as settlement_queries
from engagements.settlements import services as settlements
from engagements.workbench import board_queries as boards
from tests.engagements.world import World

D = Decimal


def queries(read: Callable[[], Any]) -> int:
    with CaptureQueriesContext(connection) as captured:
        read()
    return len(captured)


def every_decision(world: World) -> None:
    """An active engagement, one that met its target and one that missed it."""
    world.active()
    world.met()
    world.missed()


def test_twice_the_engagements_cost_no_more_queries(world: World) -> None:
    reads: list[Callable[[], Any]] = [
        lambda: boards.board(world.consultant),
        lambda: boards.done(world.consultant),
        lambda: [row.engagement.customer.name for row in largest(50)],
        lambda: [
            row.milestone.title for row in milestones.lines_of(milestones.milestones_to_bill())
        ],
        lambda: [row.customer.name for row in open_invoices()],
        lambda: [
            row.contract_version.engagement.title
            for row in settlement_queries.settlements_waiting()
        ],
    ]
    every_decision(world)
    once = [queries(read) for read in reads]
    every_decision(world)
    assert [queries(read) for read in reads] == once


def test_the_board_shows_each_customer_s_people_their_own(world: World) -> None:
    own = world.scoping()
    world.scoping(customer=world.other_customer)
    shown = [s.engagement for group in boards.board(world.signatory) for s in group.summaries]
    assert shown == [own]
    assert boards.board(world.nobody) == []


def test_the_board_finds_and_narrows(world: World) -> None:
    own, other = world.scoping(), world.scoping(customer=world.other_customer)
    found = boards.board(world.consultant, text="elsewhere")
    assert [s.engagement for group in found for s in group.summaries] == [other]
    assert boards.board(world.consultant, lead=world.admin) == []
    assert boards.board(world.consultant, text=own.reference)


def test_what_ended_leaves_the_board(world: World) -> None:
    engagement = world.scoping()
    closing.cancel(engagement=engagement, reason="Sold.", by=world.consultant)
    assert boards.board(world.consultant) == []
    [group] = boards.done(world.consultant)
    assert group.summaries[0].engagement == engagement


def test_only_a_billed_milestone_has_something_open(world: World) -> None:
    contract = world.active()
    first = contract.milestones.get(position=1)
    assert (gross(first), received(first), outstanding(first)) == (D("14280.00"), D(0), D(0))
    assert outstanding(world.bill(first)) == D("14280.00")
    world.conclude(world.request(contract), "missed")
    # What is not the audit's was credited by the settlement.
    assert outstanding(Milestone.objects.get(pk=first.pk)) == D("7140.00")


def at_risk(world: World) -> list[Decimal]:
    """The liabilities of the rows, which add up to that of the ledger."""
    rows = [row.liability for row in largest(50)]
    assert sum(rows) == -sum(row.balance for row in totals())
    return rows


def test_fees_are_at_risk_until_the_verdict(world: World) -> None:
    contract = world.active()
    assert at_risk(world) == []
    world.pay(contract.milestones.get(position=1))
    assert at_risk(world) == [D("6000.00")]
    world.conclude(world.request(contract), "met")
    assert at_risk(world) == []


def test_a_missed_fee_is_at_risk_until_its_refund_is_approved(world: World) -> None:
    settlement = world.settlement()
    assert at_risk(world) == [D("12000.00")]
    # From here on it is a refund payable.
    settlements.approve(settlement=settlement, by=world.finance)
    assert at_risk(world) == []


def test_what_was_kept_is_at_risk_again_until_a_further_refund_is_approved(world: World) -> None:
    row = world.settlement()
    settlements.approve(settlement=row, by=world.finance)
    refunds.mark_paid(settlement=row, reference="B-1", by=world.controller)
    further = settlements.propose(
        contract=row.contract_version,
        reason="further",
        note="We were late.",
        audit_cost=D("5000"),
        by=world.controller,
    )
    assert at_risk(world) == [D("1000.00")]
    settlements.approve(settlement=further, by=world.finance)
    assert at_risk(world) == []


def test_less_than_the_audit_is_no_money_at_risk(world: World) -> None:
    contract = world.active()
    world.pay(contract.milestones.get(position=1), amount=D("7000"))
    assert at_risk(world) == []
