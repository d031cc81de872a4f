"""Operations that are killed by SIGKILL are complete or rolled back, and a retry completes them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from decimal import Decimal
from functools import partial

import pytest

from engagements.billing import (
    bank_imports,
    credit_note_drafts,
    csv_confirmations,
    invoices,
    payments,
    reconciliation,
    reversals,
    write_offs,
)
from engagements.billing.bank_models import BankLine
from engagements.billing.models import Invoice
from engagements.contracts.models import ContractVersion
from engagements.event_log import verify
from engagements.ledger import periods
from engagements.payouts import (
    bank_matching,
    overpayment_refunds,
    overpayments,
    refund_accounts,
    refunds,
    transfer_files,
)
from engagements.payouts.overpayment_models import OverpaymentRefund
from engagements.runs import services as runs
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.engagements.billing.test_bank_imports import statement
from tests.engagements.payouts.test_csv_confirmations import LAYOUT
from tests.engagements.proofs import process_kills
from tests.engagements.proofs.invariants import SealedRows, check_invariants
from tests.engagements.proofs.process_kills import Act
from tests.engagements.world import World, days, measured, today

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world(transactional_db: None) -> World:
    """Committed, so that other processes see it."""
    return World()


# Killed in `make test`; the others are only performed.
SHORT = {
    "issue invoice",
    "record payment",
    "confirm keyed payment",
    "propose settlement",
    "confirm payment",
}


def every_operation(world: World) -> Iterator[tuple[str, Act]]:
    """Every operation that moves money."""
    yield from billed_and_refunded(world)
    yield from _by_hand(world)
    yield from _set_aside(world)
    yield from _from_the_bank(world)
    yield from _from_a_csv(world)
    yield from _returned_by_the_bank(world)
    yield from _ended_by_agreement(world)
    yield from _overpaid(world)
    yield from _corrected(world)
    credited = world.invoice(world.active().milestones.all()[0])
    # The amount expected to be credited tells a retry from another credit note.
    yield (
        "credit invoice",
        lambda: credit_note_drafts.draft(
            invoice=credited, reason="Agreed.", by=world.finance, expected_credited=Decimal(0)
        ),
    )
    yield (
        "issue credit note",
        lambda: credit_note_drafts.issue(note=credited.credit_notes.get(), by=world.controller),
    )


def billed_and_refunded(world: World) -> Iterator[tuple[str, Act]]:
    """The operations from invoice to refund, each made possible by the previous ones."""
    contract = world.active()
    first, second = contract.milestones.order_by("position")[:2]
    by = world.finance
    drafts = [invoices.draft(milestones=[row], by=by) for row in (first, second)]
    yield "issue invoice", lambda: invoices.issue(invoice=drafts[0], by=by)
    yield "issue the next invoice", lambda: invoices.issue(invoice=drafts[1], by=by)
    yield "record payment", lambda: _key(world, drafts[0])
    yield "confirm keyed payment", lambda: _confirm(world, drafts[0])
    asked = measured(world.request(contract), "missed")
    yield "propose settlement", lambda: runs.conclude(run=asked)
    yield from _settled(world, contract)


def _settled(world: World, contract: ContractVersion) -> Iterator[tuple[str, Act]]:
    row = Settlement.objects.get(contract_version=contract)
    by = world.finance
    yield "approve settlement", lambda: settlements.approve(settlement=row, by=world.controller)
    yield "start payment", lambda: refunds.start_payment(settlement=row, by=by)
    yield (
        "fail payment",
        lambda: refunds.mark_failed(settlement=row, reason="Closed.", by=world.controller),
    )
    refund_accounts.add(
        customer=world.customer,
        holder="Longprompt AG",
        iban="DE89370400440532013000",
        bic="COBADEFFXXX",
        by=world.signatory,
    )
    yield (
        "make transfer file",
        lambda: transfer_files.make(settlements=[row], message_id="TF-1", by=by),
    )
    yield "confirm payment", lambda: refunds.mark_paid(settlement=row, reference="R-1", by=by)


def _by_hand(world: World) -> Iterator[tuple[str, Act]]:
    row = world.settlement()
    by = world.finance
    settlements.approve(settlement=row, by=world.controller)
    # Reported after the transfer: started and paid in one step.
    yield "pay settlement", lambda: refunds.mark_paid(settlement=row, reference="R-2", by=by)


def _set_aside(world: World) -> Iterator[tuple[str, Act]]:
    row = world.settlement()
    by = world.finance
    settlements.approve(settlement=row, by=by)
    yield "void settlement", lambda: settlements.void(settlement=row, reason="Wrong.", by=by)


def _from_the_bank(world: World) -> Iterator[tuple[str, Act]]:
    invoice = world.invoice(world.active().milestones.all()[0])
    content = statement((str(invoice.gross), invoice.reference))
    by = world.finance
    yield (
        "take in bank file",
        lambda: bank_imports.import_file(filename="statement.xml", content=content, by=by),
    )
    line = BankLine.objects.get()
    yield (
        "assign bank line",
        lambda: reconciliation.assign(line=line, parts=[(invoice, invoice.gross)], by=by),
    )


def _from_a_csv(world: World) -> Iterator[tuple[str, Act]]:
    invoice = world.invoice(world.active().milestones.all()[0])
    # A day that no statement of the other format has.
    content = f"Day;Amount;Text;Payer\n2026-01-07;{invoice.gross};{invoice.reference};Acme\n"
    by, other = world.finance, world.controller
    file = bank_imports.import_file(filename="b.csv", content=content.encode(), by=by)
    yield (
        "choose columns of a CSV",
        lambda: bank_imports.choose_columns(bank_import=file, layout=LAYOUT, by=by),
    )
    yield "confirm CSV", lambda: csv_confirmations.confirm(bank_import=file, by=other)
    line = file.lines.get()
    yield (
        "assign CSV line",
        lambda: reconciliation.assign(line=line, parts=[(invoice, invoice.gross)], by=by),
    )


def _returned_by_the_bank(world: World) -> Iterator[tuple[str, Act]]:
    row, by = world.settlement(), world.finance
    settlements.approve(settlement=row, by=world.controller)
    refunds.start_payment(settlement=row, by=by)
    transfer = row.transfers.get()
    details = f"<Refs><EndToEndId>{transfer.end_to_end_id}</EndToEndId></Refs>"
    # The sender does not match its return.
    for sign, name, who in (
        ("-", "match executed refund", by),
        ("", "match returned refund", world.controller),
    ):
        content = statement((f"{sign}{transfer.amount:.2f}", name), details=details)
        file = bank_imports.import_file(filename="b.xml", content=content, by=by)
        line = file.lines.get()
        # Each is performed before the next is made.
        yield (
            name,
            partial(bank_matching.match, line=line, targets=[transfer], by=who),
        )
    content = statement(("7.00", "unknown"))
    unknown = bank_imports.import_file(filename="c.xml", content=content, by=by).lines.get()
    yield (
        "set line aside",
        lambda: reconciliation.set_aside(line=unknown, note="Not ours.", by=by),
    )


def _ended_by_agreement(world: World) -> Iterator[tuple[str, Act]]:
    contract = world.active()
    world.pay(contract.milestones.get(position=1))
    yield (
        "end by agreement",
        lambda: settlements.propose(
            contract=contract, reason="agreed", note="Both agreed.", by=world.finance
        ),
    )


def _overpaid(world: World) -> Iterator[tuple[str, Act]]:
    first, other = (world.invoice(world.active().milestones.all()[0]) for _ in range(2))
    _pay(world, first, more=Decimal(20))
    by = world.finance
    yield (
        "move overpayment",
        lambda: overpayments.move(
            invoice=first, to=other, amount=Decimal(15), reference="M-1", by=by
        ),
    )
    yield (
        "propose overpayment-refund",
        lambda: overpayment_refunds.propose(invoice=first, amount=Decimal(5), by=by),
    )
    yield from _sent_back(world, OverpaymentRefund.objects.get())


def _sent_back(world: World, row: OverpaymentRefund) -> Iterator[tuple[str, Act]]:
    by, other = world.finance, world.controller
    yield "send back", lambda: overpayment_refunds.send(refund=row, by=other)
    yield (
        "fail back",
        lambda: overpayment_refunds.mark_failed(refund=row, reason="Closed.", by=by),
    )
    again = overpayment_refunds.propose(invoice=row.invoice, amount=Decimal(5), by=by)
    overpayment_refunds.send(refund=again, by=other)
    yield (
        "confirm back",
        lambda: overpayment_refunds.mark_paid(refund=again, reference="B-1", by=by),
    )


def _corrected(world: World) -> Iterator[tuple[str, Act]]:
    """What two people correct: write-offs, reversals, months."""
    by, other = world.finance, world.controller
    invoice = world.invoice(world.active().milestones.all()[0])
    world.paid_beyond(invoice, Decimal(9), "P-9")
    loss = write_offs.propose(
        invoice=invoice, kind="bad_debt", amount=Decimal(500), reason="Lost.", by=by
    )
    yield "approve write-off", lambda: write_offs.approve(write_off=loss, by=other)
    reversal = reversals.propose(
        payment=invoice.payments.get(), cause="mistyped", reason="x", dated_on=today(), by=by
    )
    yield "approve reversal", lambda: reversals.approve(reversal=reversal, by=other)
    last = (today().replace(day=1) - days(1)).replace(day=1)
    month = periods.propose(month=last, checklist=[], note="", by=by)
    yield "close month", lambda: periods.approve(period=month, checklist=[], by=other)
    reopening = periods.propose_reopening(period=month, reason="x", by=by)
    yield "reopen month", lambda: periods.approve_reopening(reopening=reopening, by=other)


def _key(world: World, invoice: Invoice, *, more: Decimal = Decimal(0)) -> None:
    payments.record(
        invoice=invoice,
        amount=invoice.gross + more,
        may_exceed=more > 0,
        received_on=today(),
        reference="P-1",
        by=world.finance,
    )


def _confirm(world: World, invoice: Invoice) -> None:
    payments.confirm(payment=invoice.payments.get(reference="P-1"), by=world.controller)


def _pay(world: World, invoice: Invoice, *, more: Decimal = Decimal(0)) -> None:
    _key(world, invoice, more=more)
    _confirm(world, invoice)


def check_crashes(name: str, act: Act, *, every_write: bool) -> None:
    """Kill an operation after writes and after its commit, then retry it."""
    writes, added = process_kills.rehearsed(act)
    before, counted = process_kills.contents(), process_kills.row_counts()
    assert writes, name
    for number in range(1, writes + 1) if every_write else {1, writes}:
        assert process_kills.killed_after_write(number, act) == signal.SIGKILL
        assert process_kills.contents() == before, f"{name}, killed after write {number}"
    assert process_kills.killed_after_commit(act) == signal.SIGKILL
    now = process_kills.row_counts()
    assert {table: now[table] - counted[table] for table in now} == added, name
    after = process_kills.contents()
    assert process_kills.in_a_child(act) == 0
    assert process_kills.contents() == after, f"{name}, retried after its commit"


def test_a_killed_operation_is_complete_or_rolled_back(world: World) -> None:
    checked = set()
    for name, act in billed_and_refunded(world):
        if name in SHORT:
            check_crashes(name, act, every_write=False)
            checked.add(name)
        else:
            act()
    assert checked == SHORT
    check_invariants(SealedRows())
    assert verify.verify().is_intact


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_every_operation_killed_after_every_write_is_complete_or_rolled_back(world: World) -> None:
    for name, act in every_operation(world):
        check_crashes(name, act, every_write=True)
    check_invariants(SealedRows())
    assert verify.verify().is_intact
