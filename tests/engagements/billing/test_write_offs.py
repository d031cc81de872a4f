"""Shortfalls are written off to the account of their cause, above a limit by two people."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.db.models import Sum
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements.billing import credit_notes, reconciliation, reversals, write_offs
from engagements.billing.balances import balance_of
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.billing.write_off_models import WriteOff
from engagements.closing import cancel
from engagements.ledger import chart
from engagements.ledger.models import Entry, Leg
from engagements.ledger.positions import positions_of
from engagements.payouts import refunds
from engagements.settlements import services as settlements
from tests.database_constraints import violates, write
from tests.engagements.billing.test_bank_imports import balance, imported, statement
from tests.engagements.proofs.clock import Clock, turned
from tests.engagements.sessions import sign_in
from tests.engagements.world import World, contract_of, fresh, today
from tests.errors import declined

D = Decimal


def short_of(world: World, missing: str) -> Invoice:
    """An invoice of EUR 14,280.00 that was paid but for this."""
    invoice = world.invoice(world.active().milestones.get(position=1))
    world.paid_beyond(invoice, invoice.gross - D(missing), "P-1")
    return invoice


def write_off(world: World, invoice: Invoice, kind: str, amount: str) -> WriteOff:
    return write_offs.propose(
        invoice=invoice, kind=kind, amount=D(amount), reason="Seen.", by=world.finance
    )


@pytest.mark.parametrize(
    ("kind", "account"),
    [
        ("bank_charges", chart.BANK_CHARGES),
        ("exchange", chart.EXCHANGE),
        ("withholding", chart.WITHHOLDING),
    ],
)
def test_a_small_shortfall_is_written_off_to_its_account(
    world: World, kind: str, account: str
) -> None:
    invoice = short_of(world, "12.50")
    row = write_off(world, invoice, kind, "12.50")
    assert (row.state, balance_of(invoice).open_amount) == ("posted", 0)
    position = positions_of(invoice.engagement, "EUR")
    assert (position.balance(account), position.balance(chart.RECEIVABLES)) == (D("12.50"), 0)
    with declined("write_off.exceeds_open_amount"):
        write_off(world, invoice, kind, "0.01")


def test_above_the_limit_a_second_person_approves(world: World) -> None:
    invoice = short_of(world, "119.00")
    row = write_off(world, invoice, "bad_debt", "119.00")
    assert (row.state, balance_of(invoice).open_amount) == ("proposed", D(119))
    with declined("write_off.same_person"):
        write_offs.approve(write_off=row, by=world.finance)
    now = timezone.now()
    with violates("writeoff_is_approved"):
        write(row, state="posted", decided_at=now)
    with violates("writeoff.approved_by_another"):
        write(row, state="posted", approved_by=world.finance, decided_at=now)
    for _ in range(2):
        row = write_offs.approve(write_off=row, by=world.controller)
    position = positions_of(invoice.engagement, "EUR")
    # The fee is not earned yet, so nothing is lost but the tax is corrected.
    assert position.balance(chart.RECEIVABLES) == 0
    assert position.balance(chart.OUTPUT_TAX) == D("-2261.00")
    assert balance_of(invoice).open_amount == 0


def test_the_limit_counts_all_that_one_person_wrote_off_of_an_invoice(world: World) -> None:
    invoice = short_of(world, "60.00")
    write_off(world, invoice, "bank_charges", "30.00")
    row = write_off(world, invoice, "exchange", "30.00")
    assert (row.state, balance_of(invoice).open_amount) == ("proposed", D(30))
    with violates("writeoff.limit"):
        write(row, state="posted", decided_at=timezone.now())


def test_a_write_off_is_dated_on_the_day_it_is_approved(world: World) -> None:
    row = write_off(world, short_of(world, "119.00"), "bad_debt", "119.00")
    clock = Clock()
    clock.pass_days(3)
    with turned(clock):
        row = write_offs.approve(write_off=row, by=world.controller)
        day = timezone.localdate()
    assert Entry.objects.get(key=f"written_off:write_off:{row.pk}").dated_on == day


def test_a_credit_note_or_a_late_payment_reverses_what_was_written_off(world: World) -> None:
    invoice = short_of(world, "40.00")
    write_off(world, invoice, "bank_charges", "40.00")
    credit_notes.credit(invoice=invoice, net=D(100), reason="Rebate.")
    assert WriteOff.objects.get().state == "reversed"
    # EUR 119.00 were credited and EUR 40.00 never came.
    assert balance_of(invoice).open_amount == D("-79.00")
    other = short_of(world, "40.00")
    write_off(world, other, "bank_charges", "40.00")
    world.paid_beyond(other, D(45), "P-2")
    assert balance_of(other).open_amount == D("-5.00")


def test_a_settlement_counts_payments_and_reverses_write_offs(world: World) -> None:
    invoice = short_of(world, "40.00")
    write_off(world, invoice, "bank_charges", "40.00")
    contract = contract_of(invoice)
    world.conclude(world.request(contract), "missed")
    settlement = contract.settlements.get()
    assert settlement.payments_received == D("14240.00")
    assert WriteOff.objects.get().state == "reversed"
    settlements.approve(settlement=settlement, by=world.controller)
    refunds.start_payment(settlement=settlement, by=world.finance)
    refunds.mark_paid(settlement=settlement, reference="R", by=world.finance)
    position = positions_of(contract.engagement, "EUR")
    for code in (chart.RECEIVABLES, chart.BANK_CHARGES, chart.REFUND_PAYABLE):
        assert position.balance(code) == 0, code


def test_a_payment_in_another_currency_is_assigned_with_its_rate(
    client: Client, world: World
) -> None:
    invoice = world.invoice(world.active().milestones.get(position=1))
    line = imported(world, statement(("15500.00", invoice.reference), currency="USD")).lines.get()
    client.force_login(world.finance)
    assert client.get(reverse("bank-line", args=[line.pk])).status_code == 200
    url = reverse("bank-exchange", args=[line.pk])
    for _ in range(2):
        client.post(url, {"invoice": invoice.pk, "rate": "0.92"})
    payment = Payment.objects.get()
    assert (payment.amount, payment.bank_amount) == (D(14260), D(15500))
    assert payment.exchange_rate == D("0.920000")
    assert (balance(chart.BANK), balance(chart.SUSPENSE)) == (D(15500), 0)
    assert balance_of(invoice).open_amount == D(20)
    with declined("bank_line.assigned_differently"):
        reconciliation.assign_exchanged(line=line, invoice=invoice, amount=D(1), by=world.finance)
    write_off(world, invoice, "exchange", "20.00")
    assert client.get(reverse("invoice", args=[invoice.pk])).status_code == 200


def exchanged(world: World) -> Payment:
    """A payment of an invoice in euro by a line in dollars."""
    invoice = world.invoice(world.active().milestones.get(position=1))
    line = imported(world, statement(("15500.00", invoice.reference), currency="USD")).lines.get()
    reconciliation.assign_exchanged(line=line, invoice=invoice, amount=D(14260), by=world.finance)
    return Payment.objects.get(bank_line=line)


def reverse_payment(world: World, payment: Payment, cause: str, **fields: Any) -> None:
    reversal = reversals.propose(
        payment=payment, cause=cause, reason="x", dated_on=today(), by=world.finance, **fields
    )
    reversals.approve(reversal=reversal, by=world.controller)


def positions(invoice: Invoice) -> dict[str, D]:
    found = positions_of(invoice.engagement, "EUR").balances
    return {code: value for code, value in found.items() if value}


def in_dollars(account: str) -> D:
    legs = Leg.objects.filter(account__code=account, currency="USD")
    return legs.aggregate(total=Sum("amount"))["total"] or D(0)


def test_a_payment_in_another_currency_is_reversed_and_its_line_assigned_again(
    world: World,
) -> None:
    payment = exchanged(world)
    invoice, line = payment.invoice, payment.bank_line
    assert line is not None
    before = positions(invoice)
    reverse_payment(world, payment, "other_invoice")
    line.refresh_from_db()
    assert (line.state, balance_of(invoice).open_amount) == ("open", invoice.gross)
    assert (in_dollars("suspense"), in_dollars("exchange_position")) == (D(-15500), 0)
    assert "exchange_position" not in positions(invoice)
    for _ in range(2):
        reconciliation.assign_exchanged(
            line=line, invoice=invoice, amount=D(14260), by=world.finance
        )
    assert positions(invoice) == before
    assert (in_dollars("suspense"), in_dollars("exchange_position")) == (0, D(-15500))


def test_a_chargeback_in_another_currency_names_its_line(world: World) -> None:
    payment = exchanged(world)
    with declined("reversal.line_required"):
        reverse_payment(world, payment, "chargeback")
    content = statement(("-15500.00", "chargeback"), currency="USD")
    shown = imported(world, content).lines.get()
    reverse_payment(world, payment, "chargeback", bank_line=shown)
    shown.refresh_from_db()
    assert (shown.state, balance_of(payment.invoice).open_amount) == (
        "matched",
        payment.invoice.gross,
    )
    assert (in_dollars("suspense"), in_dollars("exchange_position")) == (0, 0)
    assert "exchange_position" not in positions(payment.invoice)


def test_an_engagement_ends_by_agreement_after_a_payment(world: World) -> None:
    contract = world.active()
    world.pay(contract.milestones.get(position=1))
    with declined("engagement.has_payments"):
        cancel(engagement=contract.engagement, reason="Both agreed.", by=world.consultant)
    settlement = settlements.propose(
        contract=contract,
        reason="agreed",
        note="Call of 3 March: the project is dropped.",
        audit_cost=D(5000),
        by=world.finance,
    )
    assert (settlement.audit_cost, settlement.refund) == (D(5000), D(14280 - 5950))
    assert fresh(contract.engagement).stage == "missed"
    with declined("settlement.same_person"):
        settlements.approve(settlement=settlement, by=world.finance)
    with declined("settlement.audit_cost_exceeded"):
        settlements.propose(
            contract=world.active(), reason="agreed", note="x", audit_cost=D(6001), by=world.finance
        )


def test_the_pages_of_a_write_off(client: Client, world: World) -> None:
    invoice = short_of(world, "100.00")
    client.force_login(world.finance)
    url = reverse("write-off", args=[invoice.pk])
    page = client.get(reverse("invoice", args=[invoice.pk])).content.decode()
    assert f'href="{url}"' in page
    assert client.get(url).status_code == 200
    sent = {"kind": "bad_debt", "amount": "100.00", "reason": "Insolvent."}
    assert client.post(url, sent | {"amount": "100.01"}).status_code == 422
    assert client.post(url, sent).status_code == 302
    row = WriteOff.objects.get()
    page = client.get(reverse("invoice", args=[invoice.pk])).content.decode()
    assert reverse("write-off-approve", args=[row.pk]) not in page
    sign_in(client, world.controller)
    page = client.get(reverse("invoice", args=[invoice.pk])).content.decode()
    assert reverse("write-off-void", args=[row.pk]) in page
    client.post(reverse("write-off-approve", args=[row.pk]))
    assert WriteOff.objects.get().state == "posted"
    page = client.get(reverse("invoice", args=[invoice.pk])).content.decode()
    assert f'href="{url}"' not in page
    client.post(reverse("write-off-void", args=[row.pk]), {"reason": "No."})
    assert WriteOff.objects.get().state == "posted"
