"""What is too much goes back by two people, by file or by hand, once, and comes back if it must."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from engagements import closing
from engagements.billing.balances import balance_of
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.ledger import chart
from engagements.ledger.models import Entry
from engagements.ledger.positions import positions_of
from engagements.payouts import overpayment_refunds, overpayments, refund_accounts, transfer_files
from engagements.payouts.overpayment_models import OverpaymentRefund
from engagements.payouts.queries import open_overpayment_refunds, overpaid_invoices
from engagements.people.models import User
from engagements.settlements import services as settlements
from engagements.settlements.customer_accounts import accounts_of
from tests.database_constraints import violates
from tests.engagements.payouts.refund_steps import complete_refund, start_refund
from tests.engagements.world import World, contract_of
from tests.errors import declined

D = Decimal
State = OverpaymentRefund.State


@pytest.fixture
def invoice(world: World) -> Invoice:
    """Paid with 720.00 too much."""
    return world.overpaid(D("720"))


@pytest.fixture
def proposed(world: World, invoice: Invoice) -> OverpaymentRefund:
    return overpayment_refunds.propose(invoice=invoice, amount=D("720"), by=world.finance)


def balances(invoice: Invoice) -> list[Decimal]:
    """Of the bank, what is under way, what customers owe, and what might go back."""
    accounts = (chart.SUSPENSE, chart.TRANSFERS, chart.RECEIVABLES, chart.REFUND_LIABILITY)
    position = positions_of(invoice.engagement, invoice.currency)
    return [position.balance(account) for account in accounts]


def with_account(world: World) -> None:
    refund_accounts.add(
        customer=world.customer,
        holder="Longprompt AG",
        iban="DE02120300000000202051",
        bic="",
        by=world.signatory,
    )


def test_from_proposed_to_paid(world: World, invoice: Invoice, proposed: OverpaymentRefund) -> None:
    before = balances(invoice)
    assert balance_of(invoice).open_amount == -720
    row = overpayment_refunds.send(refund=proposed, by=world.controller)
    assert balance_of(invoice).open_amount == 0
    planned = overpayment_refunds.preview(invoice=invoice, amount=D("720"))
    assert balances(invoice) == [before[0], before[1] - 720, before[2] + 720, before[3]]
    overpayment_refunds.mark_paid(refund=row, reference="B-1", by=world.finance)
    assert balances(invoice) == [before[0] - 720, before[1], before[2] + 720, before[3]]
    posted = [
        {leg.account.code: leg.amount for leg in entry.legs.select_related("account")}
        for entry in Entry.objects.filter(kind__in=["payment_paid_back", "overpayment_refund_paid"])
    ]
    assert {chart.TRANSFERS: D("-720"), chart.RECEIVABLES: D("720")} in posted
    assert dict(planned[1].effect) in posted
    verbs = invoice.engagement.events.filter(verb__startswith="overpayment_refund.").order_by(
        "position"
    )
    assert [(event.verb, event.actor, event.for_customer) for event in verbs] == [
        ("overpayment_refund.proposed", world.finance, False),
        ("overpayment_refund.paying", world.controller, True),
        ("overpayment_refund.paid", world.finance, True),
    ]
    [account] = accounts_of(world.customer.engagements.all())
    assert account.balance == 0
    assert account.postings[-1].amount == D("720")


def test_a_failed_overpayment_refund_is_reversed_and_can_be_proposed_again(
    world: World, invoice: Invoice
) -> None:
    before = balances(invoice)
    row = start_refund(world, invoice, D("720"))
    for _ in range(2):
        failed = overpayment_refunds.mark_failed(refund=row, reason="Closed.", by=world.finance)
    assert failed.state == State.FAILED
    assert balances(invoice) == before
    assert balance_of(invoice).open_amount == -720
    assert [payment.description for payment in invoice.payments.order_by("pk")] == [
        "received",
        "paid back",
        "came back",
    ]
    complete_refund(world, invoice, D("720"))
    connection.check_constraints()
    assert balance_of(invoice).open_amount == 0


def test_nobody_sends_what_they_proposed(world: World, proposed: OverpaymentRefund) -> None:
    with declined("overpayment_refund.same_person"):
        overpayment_refunds.send(refund=proposed, by=world.finance)
    with_account(world)
    with declined("transfer_file.not_transferable"):
        transfer_files.make(
            settlements=[], overpaid=[proposed], message_id="TF-1", by=world.finance
        )
    assert Payment.objects.filter(amount__lt=0).count() == 0


def test_overpayment_refunds_are_in_the_transfer_file(
    world: World, proposed: OverpaymentRefund
) -> None:
    settlement = settlements.approve(settlement=world.settlement(), by=world.finance)
    with_account(world)
    for _ in range(2):
        file = transfer_files.make(
            settlements=[settlement], overpaid=[proposed], message_id="TF-1", by=world.controller
        )
    row = OverpaymentRefund.objects.get()
    assert (row.state, row.file, row.iban) == (State.PAYING, file, "DE02120300000000202051")
    with declined("transfer_file.already_made"):
        transfer_files.make(settlements=[settlement], message_id="TF-1", by=world.controller)
    assert file.total == settlement.refund + 720
    content = bytes(file.content)
    assert row.left is not None
    for part in ("720.00", row.left.reference, f"Overpayment of {row.invoice.reference}"):
        assert part.encode() in content
    assert list(open_overpayment_refunds()) == [row]


@pytest.mark.parametrize("step", ["propose", "send", "paid", "failed", "void"])
def test_each_step_taken_twice_is_taken_once(world: World, invoice: Invoice, step: str) -> None:
    acts: dict[str, Callable[[OverpaymentRefund], OverpaymentRefund]] = {
        "propose": lambda row: overpayment_refunds.propose(
            invoice=invoice, amount=D("5"), by=world.finance
        ),
        "send": lambda row: overpayment_refunds.send(refund=row, by=world.controller),
        "paid": lambda row: overpayment_refunds.mark_paid(
            refund=row, reference="B-1", by=world.finance
        ),
        "failed": lambda row: overpayment_refunds.mark_failed(
            refund=row, reason="No.", by=world.finance
        ),
        "void": lambda row: overpayment_refunds.void(refund=row, reason="No.", by=world.finance),
    }
    row = overpayment_refunds.propose(invoice=invoice, amount=D("5"), by=world.finance)
    if step in ("paid", "failed"):
        overpayment_refunds.send(refund=row, by=world.controller)
    once = acts[step](row)
    count = invoice.engagement.events.count()
    assert acts[step](row) == once
    assert invoice.engagement.events.count() == count
    assert OverpaymentRefund.objects.get().state == once.state


def test_another_amount_or_reference_is_refused(world: World, proposed: OverpaymentRefund) -> None:
    for by, amount in ((world.finance, D("1")), (world.controller, D("720"))):
        with declined("overpayment_refund.already_proposed"):
            overpayment_refunds.propose(invoice=proposed.invoice, amount=amount, by=by)
    with declined("validation.state"):
        overpayment_refunds.mark_paid(refund=proposed, reference="B-1", by=world.finance)
    overpayment_refunds.send(refund=proposed, by=world.controller)
    with declined("validation.state"):
        overpayment_refunds.void(refund=proposed, reason="No.", by=world.finance)
    overpayment_refunds.mark_paid(refund=proposed, reference="B-1", by=world.finance)
    with declined("overpayment_refund.already_paid"):
        overpayment_refunds.mark_paid(refund=proposed, reference="B-2", by=world.finance)


@pytest.mark.parametrize(
    ("amount", "code"),
    [
        (D("720.01"), "overpayment.exceeded"),
        (D("0"), "overpayment.amount_not_positive"),
        (D("-1"), "overpayment.amount_not_positive"),
        (D("0.001"), "amount.too_precise"),
    ],
)
def test_no_more_is_proposed_than_is_too_much(
    world: World, invoice: Invoice, amount: Decimal, code: str
) -> None:
    with declined(code):
        overpayment_refunds.propose(invoice=invoice, amount=amount, by=world.finance)


def test_what_was_moved_meanwhile_is_not_sent(world: World, proposed: OverpaymentRefund) -> None:
    other = world.invoice(world.active().milestones.get(position=1))
    overpayments.move(
        invoice=proposed.invoice, to=other, amount=D("1"), reference="M-1", by=world.finance
    )
    with declined("overpayment.exceeded"):
        overpayment_refunds.send(refund=proposed, by=world.controller)
    assert transfer_files.overpayment_blocking_reason(proposed, by=world.controller)


def test_a_settlement_sends_it_back_in_place_of_a_proposal(
    world: World, proposed: OverpaymentRefund
) -> None:
    contract = contract_of(proposed.invoice)
    world.conclude(world.request(contract), "missed")
    assert contract.settlements.get().refund == D("15000") - D("7140")
    with declined("overpayment.covered_by_settlement"):
        overpayment_refunds.send(refund=proposed, by=world.controller)
    assert not overpaid_invoices().exists()


def test_what_is_on_its_way_counts_as_gone_for_the_settlement(
    world: World, invoice: Invoice
) -> None:
    row = start_refund(world, invoice, D("720"))
    contract = contract_of(invoice)
    world.conclude(world.request(contract), "missed")
    settlement = contract.settlements.get()
    assert settlement.payments_received == D("14280.00")
    overpayment_refunds.mark_failed(refund=row, reason="Closed.", by=world.finance)
    with declined("settlement.outdated"):
        settlements.approve(settlement=settlement, by=world.controller)
    settlements.void(settlement=settlement, reason="It came back.", by=world.finance)
    again = settlements.propose(contract=contract, reason="missed", by=world.finance)
    assert again.refund == D("15000") - D("7140")


def test_an_engagement_is_not_closed_while_money_is_on_its_way(world: World) -> None:
    last = world.met_paid_and_overpaid(D("5"))
    row = start_refund(world, last, D("5"))
    with declined("closing.refund_open"):
        closing.close(engagement=last.engagement, by=world.consultant)
    overpayment_refunds.mark_paid(refund=row, reference="B-1", by=world.finance)
    assert closing.close(engagement=last.engagement, by=world.consultant).stage == "closed"


def test_only_finance_takes_any_step(world: World, proposed: OverpaymentRefund) -> None:
    steps: list[Callable[[User], Any]] = [
        lambda by: overpayment_refunds.propose(invoice=proposed.invoice, amount=D("1"), by=by),
        lambda by: overpayment_refunds.send(refund=proposed, by=by),
        lambda by: overpayment_refunds.mark_paid(refund=proposed, reference="B", by=by),
        lambda by: overpayment_refunds.mark_failed(refund=proposed, reason="No.", by=by),
        lambda by: overpayment_refunds.void(refund=proposed, reason="No.", by=by),
    ]
    for by in (world.consultant, world.admin, world.signatory):
        for step in steps:
            with declined("access.finance_only"):
                step(by)


REFUSED = [
    ("UPDATE engagements_payback SET amount = 1 WHERE id = %(row)s", "overpaymentrefund.terms"),
    ("DELETE FROM engagements_payback WHERE id = %(row)s", "overpaymentrefund.deletion"),
    (
        "UPDATE engagements_payback SET state = 'paying', sent_by_id = proposed_by_id,"
        " sent_at = now(), method = 'by_hand', left_id = (SELECT max(id) FROM engagements_payment)"
        " WHERE id = %(row)s",
        "overpaymentrefund.sent_by_another",
    ),
    (
        "INSERT INTO engagements_payment (invoice_id, kind, amount, received_on, reference,"
        " moved_from_id, recorded_by_id, recorded_at) SELECT invoice_id, 'came_back', amount,"
        " received_on, 'forged', id, recorded_by_id, now() FROM engagements_payment",
        "payment.came_back",
    ),
]


@pytest.mark.parametrize(("sql", "code"), REFUSED)
def test_the_database_keeps_what_was_proposed(
    proposed: OverpaymentRefund, sql: str, code: str
) -> None:
    with violates(code), connection.cursor() as cursor:
        cursor.execute(sql, {"row": proposed.pk})


def test_the_database_lets_nobody_send_what_they_proposed(world: World, invoice: Invoice) -> None:
    row = start_refund(world, invoice, D("20"))
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE engagements_payback SET sent_by_id = proposed_by_id WHERE id = %s", [row.pk]
        )
    for state in ("failed", "paid"):
        with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "UPDATE engagements_payback SET state = %s WHERE id = %s", [state, row.pk]
            )
