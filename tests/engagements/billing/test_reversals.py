"""A payment is reversed by two people and never deleted; what follows is shown first."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from engagements.billing import payments, reconciliation, reversals
from engagements.billing.balances import balance_of
from engagements.billing.bank_models import BankImport, BankLine
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.billing.reversal_models import PaymentReversal
from engagements.ledger import chart
from engagements.ledger.positions import positions_of
from engagements.payouts import refunds
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.database_constraints import delete, violates, write
from tests.engagements.concurrency import run_concurrently
from tests.engagements.sessions import sign_in
from tests.engagements.world import World, received, today
from tests.errors import declined

D = Decimal


def billed(world: World) -> Invoice:
    return world.invoice(world.active().milestones.get(position=1))


def keyed(world: World, invoice: Invoice) -> Payment:
    return received(
        invoice=invoice,
        amount=invoice.gross,
        received_on=today(),
        reference="P-1",
        by=world.finance,
        confirmed_by=world.controller,
    )


def line_of(world: World, amount: Decimal, key: str = "k", **texts: str) -> BankLine:
    bank_import = BankImport.objects.create(
        format="camt053", filename="a.xml", content=b"", digest=key, imported_by=world.finance
    )
    return BankLine.objects.create(
        bank_import=bank_import,
        position=1,
        entry_key=key,
        entry_reference=f"B-{key}",
        booked_on=today(),
        valued_on=today(),
        account="DE89370400440532013000",
        amount=amount,
        currency="EUR",
        **texts,
    )


def balances(invoice: Invoice) -> dict[str, Decimal]:
    """The accounts of an engagement that are not zero."""
    found = positions_of(invoice.engagement, "EUR").balances
    return {code: value for code, value in found.items() if value}


def proposed(world: World, payment: Payment, cause: str) -> PaymentReversal:
    return reversals.propose(
        payment=payment, cause=cause, reason="Wrong.", dated_on=today(), by=world.finance
    )


def test_a_mistyped_payment_is_undone_by_two_people_and_stays_recorded(world: World) -> None:
    invoice = billed(world)
    before = balances(invoice)
    payment = keyed(world, invoice)
    reversal = proposed(world, payment, "mistyped")
    with declined("reversal.same_person"):
        reversals.approve(reversal=reversal, by=world.finance)
    with violates("paymentreversal.approved_by_another"):
        write(reversal, state="posted", approved_by=world.finance, decided_at=timezone.now())
    with violates("payment.reversal"):
        Payment.objects.create(
            invoice=invoice,
            kind="reversed",
            amount=-payment.amount,
            moved_from=payment,
            received_on=today(),
            reference="forged",
            recorded_by=world.finance,
        )
    for _ in range(2):
        reversals.approve(reversal=reversal, by=world.controller)
    with violates("payment.append_only"):
        delete(payment)
    assert balance_of(invoice).open_amount == invoice.gross
    assert balances(invoice) == before
    with declined("reversal.not_received"):
        proposed(world, payment, "mistyped")


def test_a_payment_of_the_wrong_invoice_opens_its_bank_line_again(world: World) -> None:
    wrong, right = billed(world), billed(world)
    line = line_of(world, wrong.gross)
    reconciliation.assign(line=line, parts=[(wrong, wrong.gross)], by=world.finance)
    with violates("bankline.assigned"):
        write(line, state="open", handled_by=None, handled_at=None)
    payment = wrong.payments.get()
    with declined("reversal.cause"):
        proposed(world, payment, "mistyped")
    reversals.approve(reversal=proposed(world, payment, "other_invoice"), by=world.controller)
    line.refresh_from_db()
    assert line.state == "open"
    for invoice in (right, right):
        reconciliation.assign(line=line, parts=[(invoice, invoice.gross)], by=world.finance)
    assert (balance_of(wrong).open_amount, balance_of(right).open_amount) == (wrong.gross, 0)
    again = right.payments.get()
    reversals.approve(reversal=proposed(world, again, "other_invoice"), by=world.controller)
    reconciliation.assign(line=line, parts=[(right, right.gross)], by=world.finance)
    assert balance_of(right).open_amount == 0


def test_a_chargeback_takes_its_bank_line_and_stops_the_refund(world: World) -> None:
    settlement = world.settlement(paid=1)
    settlement = settlements.approve(settlement=settlement, by=world.finance)
    payment = Payment.objects.get(invoice__engagement=settlement.contract_version.engagement)
    line = line_of(world, -payment.amount)
    reversal = reversals.propose(
        payment=payment,
        cause="chargeback",
        reason="The bank took it back.",
        dated_on=today(),
        bank_line=line,
        by=world.finance,
    )
    reversals.approve(reversal=reversal, by=world.controller)
    line.refresh_from_db()
    assert line.state == "matched"
    with declined("refund.exceeds_payments"):
        refunds.start_payment(settlement=settlement, by=world.controller)


def test_after_the_refund_a_chargeback_is_owed_by_the_customer(world: World) -> None:
    row = settlements.approve(settlement=world.settlement(paid=1), by=world.finance)
    refunds.mark_paid(settlement=row, reference="R", by=world.controller)
    engagement = row.contract_version.engagement
    payment = Payment.objects.get(invoice__engagement=engagement)
    reversals.approve(reversal=proposed(world, payment, "chargeback"), by=world.controller)
    assert positions_of(engagement, "EUR").balance(chart.RECEIVABLES) == row.refund + D(7140)


def test_what_follows_is_shown_before_it_is_proposed_and_approved(
    client: Client, world: World
) -> None:
    settlement = world.settlement(paid=1)
    payment = Payment.objects.get(invoice__engagement=settlement.contract_version.engagement)
    sign_in(client, world.finance)
    url = reverse("reversal-propose", args=[payment.pk])
    data = {"cause": "mistyped", "reason": "Typo.", "dated_on": today().isoformat()}
    shown = client.post(url, data).content.decode()
    assert 'id="consequences"' in shown
    assert "14,280.00" in shown
    assert not PaymentReversal.objects.exists()
    client.post(url, data | {"confirm": "1"})
    row = PaymentReversal.objects.get()
    page = reverse("reversal", args=[row.pk])
    approve = reverse("reversal-approve", args=[row.pk])
    assert approve not in client.get(page).content.decode()
    sign_in(client, world.controller)
    assert approve in client.get(page).content.decode()
    client.post(approve)
    row.refresh_from_db()
    assert row.state == "posted"
    with declined("settlement.outdated"):
        settlements.approve(settlement=settlement, by=world.controller)
    for who in (world.signatory, world.stranger):
        client.force_login(who)
        assert client.get(page).status_code == 404


@pytest.mark.django_db(transaction=True)
def test_a_reversal_and_the_refund_at_once_leave_no_refund_of_missing_money(
    transactional_db: None,
) -> None:
    world = World()
    row = settlements.approve(settlement=world.settlement(paid=1), by=world.finance)
    payment = Payment.objects.get(invoice__engagement=row.contract_version.engagement)
    reversal = proposed(world, payment, "mistyped")
    run_concurrently(
        lambda: reversals.approve(reversal=reversal, by=world.controller),
        lambda: refunds.start_payment(settlement=row, by=world.controller),
        lambda: reversals.approve(reversal=reversal, by=world.controller),
    )
    assert Payment.objects.filter(kind="reversed").count() == 1
    state = Settlement.objects.get(pk=row.pk).state
    verbs = list(
        row.contract_version.engagement.events.order_by("position").values_list("verb", flat=True)
    )
    # Whichever came first: the refund never starts after the reversal.
    if state == "paying":
        assert verbs.index("settlement.paying") < verbs.index("payment_reversal.posted")


def test_an_unconfirmed_payment_is_reversed_without_counting_anywhere(world: World) -> None:
    invoice = billed(world)
    payment = payments.record(
        invoice=invoice, amount=D(100), received_on=today(), reference="X", by=world.finance
    )
    reversals.approve(reversal=proposed(world, payment, "mistyped"), by=world.controller)
    assert payments.confirmed_total(invoice.engagement) == 0
    with declined("payment.reversed"):
        payments.confirm(payment=payment, by=world.controller)
