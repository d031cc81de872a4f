"""Bank lines find our own refunds: executed ones are paid, returned ones fail and are reopened."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from engagements import closing
from engagements.billing import payments, reconciliation
from engagements.billing.balances import balance_of
from engagements.billing.bank_models import BankLine
from engagements.billing.line_proposals import Match, proposals
from engagements.billing.payment_models import Payment, PaymentConfirmation
from engagements.engagement.models import Stage
from engagements.ledger import chart
from engagements.ledger.models import Entry
from engagements.payouts import bank_matching, overpayment_refunds, refunds, transfer_files
from engagements.payouts.match_models import TransferMatch
from engagements.payouts.models import Transfer, TransferFile
from engagements.people.models import User
from engagements.settlements import disputes
from engagements.settlements import services as settlements
from engagements.settlements.models import Settlement
from tests.database_constraints import violates, write
from tests.engagements.billing.test_bank_imports import balance, imported, statement
from tests.engagements.payouts.refund_steps import start_refund
from tests.engagements.payouts.test_transfer_pages import account
from tests.engagements.world import World, fresh, today, undone
from tests.errors import declined

D = Decimal


def on_its_way(world: World) -> Transfer:
    """A settlement's refund that left in a SEPA file."""
    row = settlements.approve(settlement=world.settlement(), by=world.controller)
    account(world)
    transfer_files.make(settlements=[row], message_id="MSG-1", by=world.finance)
    return row.transfers.get()


def test_an_account_without_a_bic_has_an_agent_that_says_so(
    world: World, settings: LazySettings
) -> None:
    settings.BANK_ACCOUNT = settings.BANK_ACCOUNT | {"bic": ""}
    on_its_way(world)
    content = bytes(TransferFile.objects.get().content)
    assert b"<FinInstnId />" not in content
    assert b"<DbtrAgt><FinInstnId><Othr><Id>NOTPROVIDED</Id>" in content


def named(transfer: Transfer, *, reason: str = "") -> str:
    returned = f"<RtrInf><Rsn><Cd>{reason}</Cd></Rsn></RtrInf>" if reason else ""
    return f"<Refs><EndToEndId>{transfer.end_to_end_id}</EndToEndId></Refs>{returned}"


def matched(world: World, content: bytes, *, by: User | None = None) -> BankLine:
    """The line of a file, matched by another person than the sender of its refund."""
    row = imported(world, content)
    outcome = bank_matching.match_import(bank_import=row, by=by or world.controller)
    assert outcome.errors == ()
    return row.lines.get()


def left(world: World, transfer: Transfer) -> BankLine:
    details = named(transfer)
    return matched(world, statement((f"-{transfer.amount:.2f}", "out"), details=details))


def came_back(world: World, transfer: Transfer) -> BankLine:
    details = named(transfer, reason="AC01")
    return matched(world, statement((f"{transfer.amount:.2f}", "back"), details=details))


@pytest.mark.parametrize("is_executed", [True, False])
def test_a_returned_refund_fails_its_transfer_and_can_be_paid_again(
    world: World, is_executed: bool
) -> None:
    transfer = on_its_way(world)
    if is_executed:
        assert left(world, transfer).state == "matched"
        assert Settlement.objects.get().state == "paid"
        closing.close(engagement=transfer.settlement.contract_version.engagement, by=world.admin)
    line = came_back(world, transfer)
    settlement = Settlement.objects.get()
    assert (line.state, settlement.state) == ("matched", "failed")
    assert settlement.transfers.get().failure_reason == "AC01"
    assert fresh(settlement.contract_version.engagement).stage == Stage.MISSED
    assert not Payment.objects.filter(bank_line__isnull=False).exists()
    assert balance(chart.REFUND_PAYABLE) == -transfer.amount
    assert balance(chart.TRANSFERS) == 0
    refunds.start_payment(settlement=settlement, by=world.finance)
    refunds.mark_paid(settlement=settlement, reference="R-2", by=world.finance)
    assert balance(chart.REFUND_PAYABLE) == 0


def test_a_disputed_refund_that_the_bank_returns_is_recorded_and_not_paid_again(
    world: World,
) -> None:
    transfer = on_its_way(world)
    left(world, transfer)
    settlement = Settlement.objects.get()
    disputes.raise_dispute(settlement=settlement, reason="Too little.", by=world.signatory)
    assert came_back(world, transfer).state == "matched"
    with declined("settlement.on_hold"):
        refunds.start_payment(settlement=settlement, by=world.finance)


def test_a_returned_refund_is_never_a_customers_payment(world: World) -> None:
    transfer = on_its_way(world)
    engagement = transfer.settlement.contract_version.engagement
    invoice = engagement.invoices.filter(kind="invoice").latest("pk")
    content = statement(
        (f"{transfer.amount - 51:.2f}", f"RETURN {invoice.reference}"),
        details=named(transfer, reason="AC01"),
    )
    row = imported(world, content)
    line = row.lines.get()
    # The bank kept more than the limit, so that a person decides.
    assert bank_matching.match_import(bank_import=row, by=world.finance).errors
    [proposal] = proposals([line])
    assert (proposal.match, proposal.is_certain) == (Match.NONE, False)
    with declined("bank_line.returned_refund"):
        reconciliation.assign(line=line, parts=[(invoice, line.amount)], by=world.finance)
    with violates("payment.returned_refund"):
        Payment.objects.create(
            invoice=invoice,
            amount=line.amount,
            received_on=line.booked_on,
            reference="x",
            bank_line=line,
            recorded_by=world.finance,
        )


@pytest.mark.parametrize("is_executed", [True, False])
def test_a_return_less_the_bank_s_fee_finds_its_transfer(world: World, is_executed: bool) -> None:
    transfer = on_its_way(world)
    if is_executed:
        left(world, transfer)
    content = statement(
        (f"{transfer.amount - 5:.2f}", "back"), details=named(transfer, reason="AC01")
    )
    line = matched(world, content)
    match = line.transfer_matches.get(kind="returned")
    assert (match.amount, match.charges) == (transfer.amount, 5)
    assert Settlement.objects.get().state == "failed"
    assert balance(chart.REFUND_PAYABLE) == -transfer.amount
    assert balance(chart.BANK_CHARGES) == 5
    engagement = transfer.settlement.contract_version.engagement
    entry = Entry.objects.get(kind=Entry.Kind.RETURN_CHARGED)
    assert (entry.engagement, entry.dated_on) == (engagement, line.valued_on)
    with violates("transfer_match_charges_are_of_a_return"):
        TransferMatch.objects.create(
            line=line, kind="returned", transfer=transfer, amount=100, charges=100
        )


def test_a_debit_to_another_account_does_not_show_the_refund(world: World) -> None:
    transfer = on_its_way(world)
    payee = (
        f"{named(transfer)}<RltdPties><CdtrAcct><Id><IBAN>DE89370400440532013000</IBAN></Id>"
        "</CdtrAcct></RltdPties>"
    )
    row = imported(world, statement((f"-{transfer.amount:.2f}", "out"), details=payee))
    line = row.lines.get()
    assert bank_matching.match_import(bank_import=row, by=world.controller).errors
    with declined("bank_line.other_payee"):
        bank_matching.match(line=line, targets=[transfer], by=world.finance)
    with violates("transfermatch.payee"):
        TransferMatch.objects.create(
            line=line, kind="executed", transfer=transfer, amount=transfer.amount
        )
    assert Settlement.objects.get().state == "paying"


def test_a_bank_line_is_evidence_once(world: World) -> None:
    transfer, invoice = on_its_way(world), world.invoice(world.active().milestones.get(position=1))
    keyed = payments.record(
        invoice=invoice,
        amount=transfer.amount,
        received_on=today(),
        reference="K",
        may_exceed=True,
        by=world.finance,
    )
    line = imported(world, statement((f"{transfer.amount:.2f}", "unnamed"))).lines.get()
    with undone():
        PaymentConfirmation.objects.create(
            payment=keyed, bank_line=line, confirmed_by=world.finance
        )
        with violates("transfermatch.amount"):
            TransferMatch.objects.create(
                line=line, kind="returned", transfer=transfer, amount=transfer.amount
            )
    # Its sender does not take a line for a return.
    with declined("refund.same_person"):
        bank_matching.match(line=line, targets=[transfer], by=world.finance)
    bank_matching.match(line=line, targets=[transfer], by=world.controller)
    with violates("paymentconfirmation.bank_line"):
        PaymentConfirmation.objects.create(
            payment=keyed, bank_line=line, confirmed_by=world.finance
        )
    with violates("payment.returned_refund"):
        Payment.objects.create(
            invoice=invoice,
            amount=line.amount,
            received_on=today(),
            reference="again",
            bank_line=line,
            recorded_by=world.finance,
        )
    assert bank_matching.match(line=line, targets=[transfer], by=world.finance) == line
    with declined("bank_line.matched"):
        bank_matching.match(line=line, targets=[], by=world.finance)


def test_a_file_of_refunds_is_paid_by_its_one_debit(world: World) -> None:
    rows = [
        settlements.approve(settlement=world.settlement(), by=world.controller) for _ in range(2)
    ]
    account(world)
    file = transfer_files.make(settlements=rows, message_id="MSG-2", by=world.finance)
    details = "<Refs><MsgId>MSG-2</MsgId></Refs>"
    line = matched(world, statement((f"-{file.total:.2f}", "batch"), details=details))
    assert set(Settlement.objects.values_list("state", flat=True)) == {"paid"}
    assert line.transfer_matches.count() == 2
    assert (balance(chart.TRANSFERS), balance(chart.BANK)) == (0, -file.total)


@pytest.mark.parametrize("is_executed", [True, False])
def test_a_returned_overpayment_is_on_its_invoice_again(world: World, is_executed: bool) -> None:
    invoice = world.overpaid(D(20))
    refund = start_refund(world, invoice, D(20))
    details = f"<Refs><EndToEndId>{overpayment_refunds.end_to_end_id(refund)}</EndToEndId></Refs>"
    if is_executed:
        matched(world, statement(("-20.00", "out"), details=details))
        refund.refresh_from_db()
        assert refund.state == "paid"
    matched(world, statement(("20.00", "back"), details=details), by=world.finance)
    refund.refresh_from_db()
    assert refund.state == "failed"
    assert balance_of(invoice).open_amount == -20
    assert balance(chart.TRANSFERS) == 0


def test_a_paid_refund_fails_only_by_a_return(world: World) -> None:
    transfer = on_its_way(world)
    left(world, transfer)
    with violates("settlement.returned"):
        write(transfer.settlement, state="failed", paid_at=None, paid_by=None)
    line = BankLine.objects.get()
    with violates("transfermatch.direction"):
        TransferMatch.objects.create(line=line, kind="returned", transfer=transfer, amount=1)


def test_a_person_matches_a_transfer_by_hand_with_its_line(client: Client, world: World) -> None:
    row = settlements.approve(settlement=world.settlement(), by=world.controller)
    refunds.start_payment(settlement=row, by=world.finance)
    transfer = row.transfers.get()
    line = imported(world, statement((f"-{transfer.amount:.2f}", "online banking"))).lines.get()
    client.force_login(world.finance)
    page = reverse("bank-line", args=[line.pk])
    assert f"transfer:{transfer.pk}" in client.get(page).content.decode()
    url = reverse("bank-match", args=[line.pk])
    for _ in range(2):
        client.post(url, {"refund": f"transfer:{transfer.pk}"})
    assert Settlement.objects.get().state == "paid"
    assert TransferMatch.objects.count() == 1
    assert client.get(page).status_code == 200


def test_outgoing_lines_are_set_aside_together(client: Client, world: World) -> None:
    row = imported(world, statement(("-900.00", "rent"), ("-50.00", "phone")))
    client.force_login(world.finance)
    lines = list(row.lines.values_list("pk", flat=True))
    client.post(reverse("bank-set-aside-many"), {"line": lines, "note": "Office."})
    assert set(row.lines.values_list("state", flat=True)) == {"set_aside"}
    assert client.get(reverse("bank")).status_code == 200
