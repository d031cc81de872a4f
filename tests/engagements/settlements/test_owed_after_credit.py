"""A credit after a settlement is owed to the customer, and nothing closes unbalanced."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from engagements import closing
from engagements.billing import credit_notes
from engagements.ledger import chart
from engagements.ledger.models import Entry
from engagements.ledger.positions import positions_of
from engagements.ledger.posting import LegDraft, post
from engagements.payouts import refunds
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from engagements.settlements.queries import pending_settlements
from tests.database_constraints import violates, write
from tests.engagements.world import World, fresh, today
from tests.errors import declined

D = Decimal


def settled(world: World, row: Settlement) -> Settlement:
    row = settlements.approve(settlement=row, by=world.controller)
    return refunds.mark_paid(settlement=row, reference=f"R-{row.pk}", by=world.finance)


def test_a_credit_after_the_settlement_is_owed_by_a_day_and_refunded_by_a_further_one(
    world: World,
) -> None:
    paid = settled(world, world.settlement(paid=1, refund_days=14))
    contract, engagement = paid.contract_version, paid.contract_version.engagement
    assert not pending_settlements(today=today())
    invoice = engagement.invoices.get(kind="invoice")
    credit_notes.credit(invoice=invoice, net=D(1000), reason="Goodwill.")
    with declined("closing.unsettled_payments"):
        closing.close(engagement=engagement, by=world.consultant)
    with violates("engagement.balance"):
        write(engagement, stage="closed")
    [pending] = pending_settlements(today=today())
    assert (pending.contract, pending.due_on) == (contract, today() + timedelta(days=14))
    further = settlements.propose(
        contract=contract, reason="further", note="Goodwill.", by=world.finance
    )
    assert (further.audit_cost, further.refund) == (D(5000), D(1190))
    settled(world, further)
    assert not pending_settlements(today=today())
    assert positions_of(engagement, "EUR").balance(chart.RECEIVABLES) == 0
    assert closing.close(engagement=engagement, by=world.consultant).stage == "closed"
    # Money or a credit note that follows opens a balance, and with it the engagement.
    credit_notes.credit(invoice=invoice, net=D(100), reason="Goodwill.")
    assert fresh(engagement).stage == "missed"


def test_a_payment_for_a_closed_engagement_reopens_it(world: World) -> None:
    invoice = settled(world, world.settlement(paid=1)).contract_version.engagement.invoices.get(
        kind="invoice"
    )
    closing.close(engagement=invoice.engagement, by=world.consultant)
    world.paid_beyond(invoice, D(5), "twice")
    assert fresh(invoice.engagement).stage == "missed"


def test_nothing_closes_while_a_ledger_balance_is_open(world: World) -> None:
    engagement = settled(world, world.settlement(paid=1)).contract_version.engagement
    post(
        engagement=engagement,
        kind=Entry.Kind.PAYMENT_RECEIVED,
        dated_on=today(),
        legs=[LegDraft(chart.RECEIVABLES, D(1), "EUR"), LegDraft(chart.SUSPENSE, D(-1), "EUR")],
        key="payment_received:test:1",
    )
    with declined("closing.unbalanced"):
        closing.close(engagement=engagement, by=world.consultant)
    with violates("engagement.balance"):
        write(engagement, stage="closed")
