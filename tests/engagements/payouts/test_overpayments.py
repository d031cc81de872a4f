"""Money beyond what an invoice asks: put to another invoice, never lost or twice."""

from decimal import Decimal
from typing import Any

import pytest
from django.db import connection

from engagements import closing
from engagements.billing import credit_notes, invoices
from engagements.billing.balances import balance_of, open_invoices
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.contracts.models import Party
from engagements.ledger import chart
from engagements.ledger.models import Entry
from engagements.ledger.positions import positions_of
from engagements.payouts import overpayment_refunds, overpayments, refunds
from engagements.payouts.queries import overpaid_invoices
from engagements.settlements import services as settlements
from engagements.settlements.calculation import preview
from tests.engagements.payouts.refund_steps import complete_refund
from tests.engagements.world import World, contract_of, received, today
from tests.errors import declined

D = Decimal


def open_one(world: World) -> Invoice:
    """An open invoice of the same customer's, in another engagement."""
    return world.invoice(world.active().milestones.get(position=1))


def move(world: World, invoice: Invoice, to: Invoice, **changes: Any) -> Payment:
    said: dict[str, Any] = {"amount": D("720"), "reference": "MOVE-1", "by": world.finance}
    return overpayments.move(**{"invoice": invoice, "to": to} | said | changes)


def bank_of(invoice: Invoice, account: str = chart.SUSPENSE) -> Decimal:
    return positions_of(invoice.engagement, invoice.currency).balance(account)


def test_what_is_too_much_is_put_to_another_engagement_s_invoice(world: World) -> None:
    invoice, other = world.overpaid(D("720")), open_one(world)
    assert list(overpaid_invoices()) == [invoice]
    arrived = move(world, invoice, other)
    assert balance_of(invoice).open_amount == 0
    assert balance_of(other).open_amount == D("13560.00")
    assert arrived.moved_from is not None
    assert (arrived.description, arrived.moved_from.description) == (
        f"moved from {invoice.reference}",
        f"moved to {other.reference}",
    )
    assert not overpaid_invoices().exists()
    for each, sign in ((invoice, -1), (other, 1)):
        assert bank_of(each, chart.MOVED_PAYMENTS) == sign * 720
        event = each.engagement.events.get(verb="payment.moved")
        assert event.for_customer
        assert event.changes["amount"] == "720.00"
        assert event.actor == world.finance
    assert Entry.objects.filter(kind="payment_moved").count() == 2


def test_what_arrives_might_go_back_and_what_left_was_no_fee(world: World) -> None:
    invoice, other = world.overpaid(D("10000")), open_one(world)
    before = bank_of(invoice, chart.REFUND_LIABILITY)
    move(world, invoice, other, amount=D("10000"))
    # 10,000 without its tax, less the audit.
    assert bank_of(other, chart.REFUND_LIABILITY) == D("-2403.36")
    assert bank_of(invoice, chart.REFUND_LIABILITY) == before == D("-6000")


def test_within_one_engagement_both_invoices_are_posted(world: World) -> None:
    invoice = world.overpaid(D("720"))
    other = world.invoice(contract_of(invoice).milestones.get(position=2))
    planned = overpayments.preview_move(invoice=invoice, to=other, amount=D("720"))
    assert [entry.about for entry in planned] == [invoice.reference, other.reference]
    before = positions_of(invoice.engagement, "EUR")
    move(world, invoice, other)
    after = positions_of(invoice.engagement, "EUR")
    for entry in planned:
        before = before.plus(entry.effect)
    moved = {code: amount for code, amount in before.balances.items() if amount}
    assert moved == {code: amount for code, amount in after.balances.items() if amount}
    assert after.balance(chart.MOVED_PAYMENTS) == 0
    assert balance_of(other).open_amount == D("6420.00")
    assert invoice.engagement.events.filter(verb="payment.moved").count() == 1


def test_what_had_counted_towards_another_invoice_no_longer_might_go_back(world: World) -> None:
    invoice, elsewhere = world.overpaid(D("720")), open_one(world)
    before = bank_of(invoice, chart.REFUND_LIABILITY)
    world.invoice(contract_of(invoice).milestones.get(position=2))
    world.paid_beyond(invoice, D("1190"), "P-2")
    assert bank_of(invoice, chart.REFUND_LIABILITY) < before
    move(world, invoice, elsewhere, amount=D("1910"))
    assert bank_of(invoice, chart.REFUND_LIABILITY) == before


def test_the_same_reference_is_the_same_move(world: World) -> None:
    invoice, other = world.overpaid(D("720")), open_one(world)
    assert move(world, invoice, other) == move(world, invoice, other)
    with declined("overpayment.already_moved"):
        move(world, invoice, other, amount=D("1"))
    with declined("overpayment.exceeded"):
        move(world, invoice, other, reference="another")
    assert Payment.objects.filter(amount__lt=0).count() == 1


def test_a_move_is_no_payment_of_the_same_name(world: World) -> None:
    invoice, other = world.overpaid(D("720")), open_one(world)
    move(world, invoice, other, amount=D("20"))
    with declined("payment.recorded_differently"):
        received(
            invoice=other,
            amount=D("20"),
            received_on=today(),
            reference="MOVE-1",
            by=world.finance,
            confirmed_by=world.controller,
        )


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"amount": D("720.01")}, "overpayment.exceeded"),
        ({"amount": D("0")}, "overpayment.amount_not_positive"),
        ({"amount": D("-1")}, "overpayment.amount_not_positive"),
        ({"amount": D("0.001")}, "amount.too_precise"),
        ({"reference": " "}, "validation.missing"),
    ],
)
def test_no_more_leaves_than_is_too_much(
    world: World, changes: dict[str, object], code: str
) -> None:
    invoice, other = world.overpaid(D("720")), open_one(world)
    with declined(code):
        move(world, invoice, other, **changes)
    assert Payment.objects.count() == 1


def test_money_moves_to_open_invoices_of_the_same_customer_and_currency(world: World) -> None:
    invoice = world.overpaid(D("720"))
    done = world.active()
    world.pay(done.milestones.get(position=1))
    paid = done.engagement.invoices.get()
    drafted = invoices.draft(
        milestones=[world.active().milestones.get(position=1)], by=world.finance
    )
    dollars = world.invoice(world.active(currency="USD").milestones.get(position=1))
    theirs = world.offered(world.audited(engagement=world.scoping(customer=world.other_customer)))
    world.accept(theirs, Party.CUSTOMER, by=world.stranger)
    foreign = world.invoice(world.accept(theirs, Party.CONSULTANCY).milestones.get(position=1))
    for other in (invoice, paid, drafted, dollars, foreign):
        with declined("overpayment.invoice_not_eligible"):
            move(world, invoice, other)
    small = open_one(world)
    received(
        invoice=small,
        amount=D("14000"),
        received_on=today(),
        reference="P",
        by=world.finance,
        confirmed_by=world.controller,
    )
    with declined("overpayment.amount_due_exceeded"):
        move(world, invoice, small)


def test_only_finance_moves_money(world: World) -> None:
    invoice, other = world.overpaid(D("720")), open_one(world)
    for by in (world.consultant, world.admin, world.signatory):
        with declined("access.finance_only"):
            move(world, invoice, other, by=by)


def test_a_settlement_counts_what_is_too_much_and_sends_it_back_once(world: World) -> None:
    invoice, other = world.overpaid(D("720")), open_one(world)
    contract = contract_of(invoice)
    world.conclude(world.request(contract), "missed")
    settlement = contract.settlements.get()
    assert settlement.refund == D("15000") - D("7140")
    with declined("overpayment.covered_by_settlement"):
        move(world, invoice, other)
    assert not overpaid_invoices().exists()
    settlements.void(settlement=settlement, reason="Wrong.", by=world.finance)
    with declined("overpayment.covered_by_settlement"):
        overpayment_refunds.propose(invoice=invoice, amount=D("720"), by=world.finance)


def test_what_left_before_the_verdict_is_not_settled_again(world: World) -> None:
    invoice = world.overpaid(D("720"))
    complete_refund(world, invoice, D("700"))
    move(world, invoice, open_one(world), amount=D("20"))
    contract = contract_of(invoice)
    figures = preview(contract=contract)
    assert figures.payments_received == D("14280.00")
    assert [line.amount for line in figures.lines[:3]] == [D("15000"), D("-700"), D("-20")]
    assert "paid back" in figures.lines[1].label
    world.conclude(world.request(contract), "missed")
    settlement = contract.settlements.get()
    settlements.approve(settlement=settlement, by=world.finance)
    refunds.mark_paid(settlement=settlement, reference="SEPA-1", by=world.controller)
    assert bank_of(invoice) + bank_of(invoice, chart.MOVED_PAYMENTS) == D("7140.00")


def test_moved_payments_are_refunded_by_the_settlement(world: World) -> None:
    invoice, other = world.overpaid(D("720")), open_one(world)
    move(world, invoice, other)
    world.conclude(world.request(contract_of(other)), "missed")
    settlement = contract_of(other).settlements.get()
    assert (settlement.payments_received, settlement.balance_due) == (D("720.00"), D("6420.00"))
    assert other not in open_invoices()
    settlements.approve(settlement=settlement, by=world.finance)
    assert [(row.pk, row.amount_due) for row in open_invoices()] == [(other.pk, D("6420.00"))]


def test_an_engagement_is_not_closed_over_money_that_is_too_much(world: World) -> None:
    last = world.met_paid_and_overpaid(D("5"))
    with declined("closing.overpaid"):
        closing.close(engagement=last.engagement, by=world.consultant)
    complete_refund(world, last, D("5"))
    assert closing.close(engagement=last.engagement, by=world.consultant).stage == "closed"


def test_what_was_credited_after_it_was_paid_is_too_much(world: World) -> None:
    invoice = world.overpaid(D("0"))
    credit_notes.credit(invoice=invoice, net=D("1000"), reason="Agreed.")
    complete_refund(world, invoice, D("1190"))
    connection.check_constraints()
    assert balance_of(invoice).open_amount == 0
