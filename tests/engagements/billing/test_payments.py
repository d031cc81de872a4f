"""Money that arrives for an invoice: written down once, by finance, as it arrived."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from engagements import closing
from engagements.billing import credit_notes, invoices, payments
from engagements.billing.amounts import outstanding, received
from engagements.billing.balances import balance_of
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.common.errors import ApplicationError
from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.milestones.models import Milestone
from engagements.ledger import chart
from engagements.ledger.positions import positions_of
from engagements.payouts import refunds
from engagements.payouts.queries import overpaid_invoices
from engagements.settlements import services as settlements
from engagements.settlements.pending import pending_settlements
from tests.engagements.payouts.paying_back import paid_back
from tests.engagements.world import World, days, today

D = Decimal


def billed(world: World, *positions: int) -> Invoice:
    """An issued invoice of these milestones of a contract in force; of the first without any."""
    parts = world.active().milestones.filter(position__in=positions or [1])
    return world.invoice(*parts.order_by("position"))


def record(world: World, invoice: Invoice, **changes: Any) -> Payment:
    given: dict[str, Any] = {
        "invoice": invoice,
        "amount": D("14280.00"),
        "received_on": today(),
        "reference": "P-1",
        "by": world.finance,
    }
    return payments.record(**given | changes)


def test_a_payment_is_gross_and_at_most_what_is_open(world: World) -> None:
    invoice = billed(world)
    record(world, invoice, amount=D("4280"))
    assert balance_of(invoice).open_amount == D("10000.00")
    with pytest.raises(ApplicationError, match=r"has EUR\s10,000\.00 open"):
        record(world, invoice, amount=D("10000.01"), reference="P-2")
    record(world, invoice, amount=D("10000"), reference="P-2")
    assert balance_of(invoice).open_amount == 0


def test_what_really_arrived_is_recorded_though_it_is_too_much(world: World) -> None:
    invoice = billed(world)
    record(world, invoice, amount=D("15000"), may_exceed=True)
    assert [row.open_amount for row in overpaid_invoices()] == [D("-720.00")]


def test_what_arrives_counts_towards_the_lines_in_their_order(world: World) -> None:
    invoice = billed(world, 1, 2)
    record(world, invoice, amount=D("15000"))
    first, second = Milestone.objects.filter(invoice_lines__invoice=invoice).order_by("position")
    assert (received(first), received(second)) == (D("14280.00"), D("720.00"))
    assert (outstanding(first), outstanding(second)) == (D(0), D("6420.00"))


def test_what_is_credited_needs_no_money(world: World) -> None:
    invoice = billed(world, 1, 2)
    lines = {invoice.lines.get(position=1): D("12000")}
    credit_notes.credit(invoice=invoice, lines=lines, reason="Waived.", by=world.finance)
    record(world, invoice, amount=D("7140"))
    first, second = Milestone.objects.filter(invoice_lines__invoice=invoice).order_by("position")
    assert (received(first), received(second)) == (D(0), D("7140.00"))
    assert balance_of(invoice).open_amount == 0


def test_the_same_reference_is_the_same_payment(world: World) -> None:
    invoice = billed(world)
    assert record(world, invoice) == record(world, invoice)
    with pytest.raises(ApplicationError, match="other figures"):
        record(world, invoice, amount=D("1"))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"amount": D("0")}, "more than nothing"),
        ({"amount": D("-5")}, "more than nothing"),
        ({"amount": D("1.001")}, "exact amount"),
        ({"reference": " "}, "reference"),
        ({"received_on": date(2999, 1, 1)}, "has arrived"),
    ],
)
def test_a_payment_that_did_not_happen_is_refused(
    world: World, changes: dict[str, object], why: str
) -> None:
    with pytest.raises(ApplicationError, match=why):
        record(world, billed(world), **changes)
    assert not Payment.objects.exists()


def test_nothing_is_received_for_a_draft_or_a_credit_note(world: World) -> None:
    contract = world.active()
    drafted = invoices.draft(milestones=[contract.milestones.get(position=1)], by=world.finance)
    with pytest.raises(ApplicationError, match="issued invoice"):
        record(world, drafted)
    note = credit_notes.credit(
        invoice=world.invoice(contract.milestones.get(position=2)), reason="Oh.", by=world.finance
    )
    with pytest.raises(ApplicationError, match="issued invoice"):
        record(world, note)


def test_a_payment_is_never_changed(world: World) -> None:
    payment = record(world, billed(world))
    with pytest.raises(IntegrityError), transaction.atomic():
        Payment.objects.filter(pk=payment.pk).update(amount=1)
    with pytest.raises(IntegrityError), transaction.atomic():
        payment.delete()


def test_only_finance_records_payments(world: World) -> None:
    invoice = billed(world)
    for by in (world.consultant, world.admin, world.signatory, world.nobody):
        with pytest.raises(ApplicationError, match="finance"):
            record(world, invoice, by=by)


def test_a_payment_that_crosses_a_settlement_is_counted_by_the_next_one(world: World) -> None:
    contract = world.active()
    world.pay(contract.milestones.get(position=1))
    late = world.invoice(contract.milestones.get(position=2))
    world.conclude(world.request(contract), "missed")
    settlement = contract.settlements.get()
    record(world, late, amount=D("7140"), may_exceed=True)
    settlements.void(settlement=settlement, reason="A late payment.", by=world.finance)
    settlement = settlements.propose(contract=contract, reason="missed", by=world.finance)
    assert settlement.payments_received == D("21420.00")


def test_what_comes_after_the_end_is_too_much_and_goes_back(world: World) -> None:
    last = world.met_paid_and_overpaid(D("5"))
    paid_back(world, last, D("5"))
    closing.close(engagement=last.engagement, by=world.consultant)
    with pytest.raises(ApplicationError, match=r"0\.00 open"):
        record(world, last, amount=D("119"), reference="late")
    late = record(world, last, amount=D("119"), reference="late", may_exceed=True)
    assert late.invoice in overpaid_invoices()
    gone = paid_back(world, last, D("119"))
    assert (gone.state, balance_of(last).open_amount) == ("paid", 0)
    assert [payment.amount for payment in last.payments.all()][-2:] == [D("119"), D("-119")]
    kinds = ("payment_received", "payment_paid_back", "overpayment_refund_paid")
    assert {kind: last.engagement.entries.filter(kind=kind).count() for kind in kinds} == {
        "payment_received": 6,
        "payment_paid_back": 2,
        "overpayment_refund_paid": 2,
    }


def test_what_comes_after_a_cancelled_engagement_goes_back(world: World) -> None:
    invoice = billed(world)
    closing.cancel(engagement=invoice.engagement, reason="Both agreed.", by=world.consultant)
    record(world, invoice, amount=invoice.gross, reference="crossed", may_exceed=True)
    paid_back(world, invoice, invoice.gross)
    assert positions_of(invoice.engagement, "EUR").balance(chart.BANK) == 0


def test_what_comes_after_a_paid_settlement_goes_back_by_a_further_one(
    world: World, client: Client
) -> None:
    settlement = settlements.approve(settlement=world.settlement(), by=world.controller)
    refunds.mark_paid(settlement=settlement, reference="SEPA-1", by=world.controller)
    contract = settlement.contract_version
    assert pending_settlements(today=today()) == []
    invoice = contract.engagement.invoices.filter(kind="invoice").order_by("pk")[0]
    closing.close(engagement=contract.engagement, by=world.consultant)
    record(world, invoice, amount=D("119"), reference="late", may_exceed=True)
    (waiting,) = pending_settlements(today=today())
    assert waiting.last == settlement
    client.force_login(world.finance)
    assert "more came in since it was settled" in client.get("/finance/").content.decode()
    further = settlements.propose(
        contract=contract, reason="further", note="It came late.", by=world.finance
    )
    assert further.refund == D("119")
    assert pending_settlements(today=today()) == []


def test_an_engagement_is_not_closed_over_what_came_in_since_it_was_settled(world: World) -> None:
    settlement = settlements.approve(settlement=world.settlement(), by=world.controller)
    refunds.mark_paid(settlement=settlement, reference="SEPA-1", by=world.controller)
    engagement = settlement.contract_version.engagement
    invoice = engagement.invoices.filter(kind="invoice").order_by("pk")[0]
    record(world, invoice, amount=D("119"), reference="late", may_exceed=True)
    with pytest.raises(ApplicationError, match="More came in since it was settled"):
        closing.close(engagement=engagement, by=world.consultant)


def test_yesterday_s_payment_is_recorded_today(world: World) -> None:
    assert record(world, billed(world), received_on=today() - days(1)).received_on < today()


@pytest.mark.parametrize(
    ("currency", "fee", "gross", "least"),
    [("JPY", "100001", "119001", "1"), ("KWD", "1000.001", "1190.001", "0.001")],
)
def test_amounts_are_those_of_their_currency(
    world: World, currency: str, fee: str, gross: str, least: str
) -> None:
    part = MilestoneDraft("All", D(fee), "signed")
    terms: dict[str, Any] = {
        "currency": currency,
        "fee": D(fee),
        "audit_cost": D("100"),
        "milestones": [part],
    }
    invoice = world.invoice(world.active(**terms).milestones.get())
    assert invoice.gross == D(gross)
    record(world, invoice, amount=D(least))
    with pytest.raises(ApplicationError, match="exact amount"):
        record(world, invoice, amount=D(least) / 2, reference="P-2")
    record(world, invoice, amount=D(gross) - D(least), reference="P-3")
    assert balance_of(invoice).open_amount == 0


def test_a_day_in_the_year_26_is_a_slip_of_the_hand(world: World) -> None:
    invoice = billed(world)
    with pytest.raises(ApplicationError, match="look at the year"):
        record(world, invoice, received_on=today().replace(year=26, day=1))
    assert record(world, invoice, received_on=today() - days(366)).received_on < today()
