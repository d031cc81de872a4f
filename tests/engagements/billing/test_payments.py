"""Payments are recorded once, by finance, for issued invoices."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from engagements import closing
from engagements.billing import credit_notes, invoices, payments
from engagements.billing.balances import balance_of
from engagements.billing.milestones import outstanding, received
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
from engagements.settlements.queries import pending_settlements
from tests.engagements.payouts.refund_steps import complete_refund
from tests.engagements.world import World, days, today
from tests.errors import declined

D = Decimal


def billed(world: World, *positions: int) -> Invoice:
    """An issued invoice of these milestones of a contract in force; of the first without any."""
    parts = world.active().milestones.filter(position__in=positions or [1])
    return world.invoice(*parts.order_by("position"))


def record(world: World, invoice: Invoice, **changes: Any) -> Payment:
    figures: dict[str, Any] = {
        "invoice": invoice,
        "amount": D("14280.00"),
        "received_on": today(),
        "reference": "P-1",
        "by": world.finance,
    }
    return payments.record(**figures | changes)


def test_a_payment_is_gross_and_at_most_what_is_open(world: World) -> None:
    invoice = billed(world)
    record(world, invoice, amount=D("4280"))
    assert balance_of(invoice).open_amount == D("10000.00")
    with declined("payment.exceeds_open_amount"):
        record(world, invoice, amount=D("10000.01"), reference="P-2")
    record(world, invoice, amount=D("10720"), reference="P-2", may_exceed=True)
    assert [row.open_amount for row in overpaid_invoices()] == [D("-720.00")]


def test_payments_count_towards_lines_in_order(world: World) -> None:
    invoice = billed(world, 1, 2)
    record(world, invoice, amount=D("15000"))
    first, second = Milestone.objects.filter(invoice_lines__invoice=invoice).order_by("position")
    assert (received(first), received(second)) == (D("14280.00"), D("720.00"))
    assert (outstanding(first), outstanding(second)) == (D(0), D("6420.00"))


def test_credited_lines_take_no_payment(world: World) -> None:
    invoice = billed(world, 1, 2)
    lines = {invoice.lines.get(position=1): D("12000")}
    credit_notes.credit(invoice=invoice, lines=lines, reason="Waived.")
    record(world, invoice, amount=D("7140"))
    first, second = Milestone.objects.filter(invoice_lines__invoice=invoice).order_by("position")
    assert (received(first), received(second)) == (D(0), D("7140.00"))
    assert balance_of(invoice).open_amount == 0


def test_the_same_reference_is_the_same_payment(world: World) -> None:
    invoice = billed(world)
    assert record(world, invoice) == record(world, invoice)
    with declined("payment.recorded_differently"):
        record(world, invoice, amount=D("1"))


def test_an_implausible_payment_is_refused(world: World) -> None:
    invoice = billed(world)
    for changes in (
        {"amount": D("0")},
        {"amount": D("-5")},
        {"amount": D("1.001")},
        {"reference": " "},
        {"received_on": date(2999, 1, 1)},
    ):
        with pytest.raises(ApplicationError), transaction.atomic():
            record(world, invoice, **changes)
    with declined("payment.long_before_invoice"):
        record(world, invoice, received_on=today().replace(year=26, day=1))
    assert not Payment.objects.exists()
    assert record(world, invoice, received_on=today() - days(366)).received_on < today()


def test_nothing_is_received_for_a_draft_or_a_credit_note(world: World) -> None:
    contract = world.active()
    drafted = invoices.draft(milestones=[contract.milestones.get(position=1)], by=world.finance)
    with declined("payment.not_an_issued_invoice"):
        record(world, drafted)
    note = credit_notes.credit(
        invoice=world.invoice(contract.milestones.get(position=2)), reason="Oh."
    )
    with declined("payment.not_an_issued_invoice"):
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
        with declined("access.finance_only"):
            record(world, invoice, by=by)


def test_a_payment_that_crosses_a_settlement_counts_for_the_next(world: World) -> None:
    contract = world.active()
    world.pay(contract.milestones.get(position=1))
    late = world.invoice(contract.milestones.get(position=2))
    world.conclude(world.request(contract), "missed")
    settlement = contract.settlements.get()
    record(world, late, amount=D("7140"), may_exceed=True)
    settlements.void(settlement=settlement, reason="A late payment.", by=world.finance)
    settlement = settlements.propose(contract=contract, reason="missed", by=world.finance)
    assert settlement.payments_received == D("21420.00")


def test_a_payment_after_the_end_is_refunded_as_an_overpayment(world: World) -> None:
    last = world.met_paid_and_overpaid(D("5"))
    complete_refund(world, last, D("5"))
    closing.close(engagement=last.engagement, by=world.consultant)
    with declined("payment.exceeds_open_amount"):
        record(world, last, amount=D("119"), reference="late")
    late = record(world, last, amount=D("119"), reference="late", may_exceed=True)
    payments.confirm(payment=late, by=world.controller)
    assert late.invoice in overpaid_invoices()
    gone = complete_refund(world, last, D("119"))
    assert (gone.state, balance_of(last).open_amount) == ("paid", 0)
    assert [payment.amount for payment in last.payments.all()][-2:] == [D("119"), D("-119")]
    kinds = ("payment_received", "payment_paid_back", "overpayment_refund_paid")
    assert {kind: last.engagement.entries.filter(kind=kind).count() for kind in kinds} == {
        "payment_received": 6,
        "payment_paid_back": 2,
        "overpayment_refund_paid": 2,
    }


def test_a_payment_after_a_cancellation_is_refunded(world: World) -> None:
    invoice = billed(world)
    closing.cancel(engagement=invoice.engagement, reason="Both agreed.", by=world.consultant)
    crossed = record(world, invoice, amount=invoice.gross, reference="crossed", may_exceed=True)
    payments.confirm(payment=crossed, by=world.controller)
    complete_refund(world, invoice, invoice.gross)
    assert positions_of(invoice.engagement, "EUR").balance(chart.SUSPENSE) == 0


def test_a_payment_after_a_paid_settlement_is_refunded_by_a_further_one(world: World) -> None:
    settlement = settlements.approve(settlement=world.settlement(), by=world.controller)
    refunds.mark_paid(settlement=settlement, reference="SEPA-1", by=world.finance)
    contract = settlement.contract_version
    assert pending_settlements(today=today()) == []
    invoice = contract.engagement.invoices.filter(kind="invoice").order_by("pk")[0]
    closing.close(engagement=contract.engagement, by=world.consultant)
    record(world, invoice, amount=D("119"), reference="late", may_exceed=True)
    (waiting,) = pending_settlements(today=today())
    assert waiting.last == settlement
    further = settlements.propose(
        contract=contract, reason="further", note="It came late.", by=world.finance
    )
    assert further.refund == D("119")
    assert pending_settlements(today=today()) == []


def test_an_engagement_with_unsettled_payments_is_not_closed(world: World) -> None:
    settlement = settlements.approve(settlement=world.settlement(), by=world.controller)
    refunds.mark_paid(settlement=settlement, reference="SEPA-1", by=world.finance)
    engagement = settlement.contract_version.engagement
    invoice = engagement.invoices.filter(kind="invoice").order_by("pk")[0]
    record(world, invoice, amount=D("119"), reference="late", may_exceed=True)
    with declined("closing.unsettled_payments"):
        closing.close(engagement=engagement, by=world.consultant)


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
    with pytest.raises(ApplicationError):
        record(world, invoice, amount=D(least) / 2, reference="P-2")
    record(world, invoice, amount=D(gross) - D(least), reference="P-3")
    assert balance_of(invoice).open_amount == 0
