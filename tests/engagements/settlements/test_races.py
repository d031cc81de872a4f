"""Concurrent calls: one succeeds, the others are declined or change nothing."""

from __future__ import annotations

from decimal import Decimal

import pytest

from engagements.billing import bank_imports, csv_confirmations, payments, reconciliation
from engagements.billing.balances import balance_of
from engagements.billing.bank_models import BankImportConfirmation, BankLine
from engagements.billing.payment_models import Payment
from engagements.contracts.models import Party
from engagements.contracts.time_box.models import TimeBox
from engagements.engagement.models import Engagement, Stage
from engagements.payouts import overpayment_refunds, overpayments
from engagements.runs import services as runs
from engagements.runs.models import EngagementRun
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements.billing.test_bank_imports import statement
from tests.engagements.concurrency import errors_in, run_concurrently
from tests.engagements.payouts.test_csv_confirmations import LAYOUT, csv
from tests.engagements.world import World, contract_of, measured, today
from tests.errors import declined

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world(transactional_db: None, world: World) -> World:
    """Committed, so that other connections see it."""
    return world


def test_two_concurrent_approvals_leave_one(world: World) -> None:
    settlement = world.settlement()
    people = (world.finance, world.controller)
    results = run_concurrently(
        *(lambda by=by: settlements.approve(settlement=settlement, by=by) for by in people)
    )
    approvers = {row.approved_by_id for row in results}
    assert len(approvers) == 1
    log = settlement.contract_version.engagement.events
    assert log.filter(verb="settlement.approved").count() == 1


def test_two_concurrent_proposals_leave_one_settlement(world: World) -> None:
    settlement = world.settlement()
    settlements.void(settlement=settlement, reason="Wrong.", by=world.finance)
    contract = settlement.contract_version
    results = run_concurrently(
        *(
            lambda by=by: settlements.propose(contract=contract, reason="missed", by=by)
            for by in (world.finance, world.controller)
        )
    )
    assert len(errors_in(results)) == 1
    assert Settlement.objects.exclude(state="voided").count() == 1


def test_both_parties_at_once_put_the_contract_in_force_once(world: World) -> None:
    contract = world.offered()
    run_concurrently(*(lambda side=side: world.accept(contract, side) for side in Party))
    engagement = Engagement.objects.get(pk=contract.engagement_id)
    assert engagement.stage == Stage.ACTIVE
    assert TimeBox.objects.filter(engagement=engagement).count() == 1
    assert engagement.events.filter(verb="milestone.released").count() == 2


@pytest.mark.parametrize("verdict", ["met", "missed"])
def test_a_verdict_delivered_twice_is_concluded_once(world: World, verdict: str) -> None:
    contract = world.active()
    asked = measured(world.request(contract), verdict)
    run_concurrently(*[lambda: runs.conclude(run=asked)] * 2)
    log = contract.engagement.events
    assert log.filter(verb="run.concluded").count() == 1
    assert log.filter(verb=f"engagement.{verdict}").count() == 1
    assert Settlement.objects.count() == (verdict == "missed")


def test_two_acceptance_runs_asked_for_at_once_are_one(world: World) -> None:
    contract = world.active()
    results = run_concurrently(*[lambda: world.request(contract)] * 2)
    assert len(errors_in(results)) == 1
    assert EngagementRun.objects.count() == 1


def test_two_payments_at_once_never_exceed_what_is_open(world: World) -> None:
    invoice = world.invoice(world.active().milestones.get(position=1))

    def pay(reference: str) -> Payment:
        return payments.record(
            invoice=invoice,
            amount=Decimal("10000"),
            received_on=today(),
            reference=reference,
            by=world.finance,
        )

    results = run_concurrently(lambda: pay("P-1"), lambda: pay("P-2"))
    assert len(errors_in(results)) == 1
    assert balance_of(invoice).open_amount == Decimal("4280.00")


def test_a_payment_and_a_verdict_at_once_leave_figures_that_agree(world: World) -> None:
    contract = world.active()
    invoice = world.invoice(contract.milestones.get(position=1))
    asked = measured(world.request(contract), "missed")
    run_concurrently(
        lambda: runs.conclude(run=asked),
        lambda: payments.record(
            invoice=invoice,
            amount=Decimal("14280"),
            received_on=today(),
            reference="P-1",
            by=world.finance,
        ),
    )
    paid = sum(payment.amount for payment in Payment.objects.all())
    assert Settlement.objects.get().payments_received == paid


def test_engagements_opened_at_once_get_references_of_their_own(world: World) -> None:
    results = run_concurrently(*[world.scoping] * 4)
    assert len({engagement.reference for engagement in results}) == 4


def test_a_bank_file_handed_in_twice_at_once_is_one_import(world: World) -> None:
    content = statement(("10.00", "x"))
    results = run_concurrently(
        *[
            lambda: bank_imports.import_file(
                filename="statement.xml", content=content, by=world.finance
            )
        ]
        * 4
    )
    assert len({row.pk for row in results}) == 1
    assert BankLine.objects.count() == 1


def test_a_csv_is_read_and_confirmed_once(world: World) -> None:
    invoice = world.invoice(world.active().milestones.get(position=1))
    by, other = world.finance, world.controller
    content = f"Day;Amount;Text;Payer\n{today()};{invoice.gross};{invoice.reference};Acme\n"
    file = bank_imports.import_file(filename="b.csv", content=content.encode(), by=by)
    run_concurrently(
        *[lambda: bank_imports.choose_columns(bank_import=file, layout=LAYOUT, by=by)] * 3
    )
    line = file.lines.get()
    results = run_concurrently(
        *[lambda: csv_confirmations.confirm(bank_import=file, by=other)] * 2,
        lambda: csv_confirmations.confirm(bank_import=file, by=by),
        *[
            lambda: reconciliation.assign(line=line, parts=[(invoice, invoice.gross)], by=by),
        ]
        * 2,
    )
    codes = {error.code for error in errors_in(results)}
    # The importer comes too early or too late; a line waits for the second person.
    assert codes <= {"bank_file.same_person", "bank_file.unconfirmed"}
    assert BankImportConfirmation.objects.get().confirmed_by == other
    reconciliation.assign(line=line, parts=[(invoice, invoice.gross)], by=by)
    assert balance_of(invoice).open_amount == 0
    assert Payment.objects.count() == 1


def test_a_csv_takes_no_further_copies_once_it_is_confirmed(world: World) -> None:
    csv(world, ("100.00", "rate"))
    file = csv(world, ("100.00", "rate"), ("7.00", "other"))
    [alike] = csv_confirmations.alike_lines(file)
    results = run_concurrently(
        lambda: csv_confirmations.confirm(bank_import=file, by=world.controller),
        *[lambda: csv_confirmations.keep(bank_import=file, key=alike.line.key, by=world.finance)]
        * 2,
    )
    assert {error.code for error in errors_in(results)} <= {"bank_file.confirmed"}
    assert file.lines.count() in (1, 2)
    with declined("bank_file.confirmed"):
        csv_confirmations.keep(bank_import=file, key=alike.line.key, by=world.finance)


def test_an_overpayment_is_refunded_once_by_either_way(world: World) -> None:
    invoice = world.overpaid(Decimal(20))
    other = world.invoice(world.active().milestones.get(position=1))
    amount, by = Decimal(20), world.finance
    row = overpayment_refunds.propose(invoice=invoice, amount=amount, by=by)
    results = run_concurrently(
        lambda: overpayments.move(invoice=invoice, to=other, amount=amount, reference="M", by=by),
        *[lambda: overpayment_refunds.send(refund=row, by=world.controller)] * 2,
    )
    # Sent twice is sent once: either the move is refused, or both that would send it.
    assert len(errors_in(results)) in (1, 2)
    assert balance_of(invoice).open_amount == 0
    assert Payment.objects.filter(amount__lt=0).count() == 1


def test_moves_that_cross_wait_for_each_other_and_both_arrive(world: World) -> None:
    one, two = world.overpaid(Decimal(20)), world.overpaid(Decimal(20))
    of_one, of_two = (
        world.invoice(contract_of(each).milestones.get(position=2)) for each in (one, two)
    )
    amount, by = Decimal(20), world.finance
    results = run_concurrently(
        *[lambda: overpayments.move(invoice=one, to=of_two, amount=amount, reference="A", by=by)]
        * 2,
        *[lambda: overpayments.move(invoice=two, to=of_one, amount=amount, reference="B", by=by)]
        * 2,
    )
    assert errors_in(results) == []
    assert len({payment.pk for payment in results}) == 2
    assert [balance_of(each).received for each in (of_one, of_two)] == [amount, amount]
