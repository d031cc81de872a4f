"""Money from bank files: every entry once, to the invoice that the payer quoted."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from engagements import closing
from engagements.billing import bank_imports, bank_lines
from engagements.billing.balances import balance_of
from engagements.billing.matching import Fit, Proposal, candidates, proposals, quoted_numbers
from engagements.billing.models import Invoice
from engagements.billing.payment_models import BankImport, BankLine, Payment
from engagements.common.errors import ApplicationError
from engagements.payouts.queries import overpaid_invoices
from tests.engagements.billing.test_bank_files import GERMAN
from tests.engagements.world import World
from tests.refusing import refused

FILES = Path(__file__).parent.parent / "bank"
D = Decimal


def statement(*entries: tuple[str, str], currency: str = "EUR", day: str = "2026-01-05") -> bytes:
    """A CAMT.053 file of (amount, text) entries, each with a reference of the bank's own."""
    body = "".join(
        f'<Ntry><Amt Ccy="{currency}">{amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts>'
        f"<BookgDt><Dt>{day}</Dt></BookgDt><AcctSvcrRef>{amount}-{text}</AcctSvcrRef><NtryDtls>"
        f"<TxDtls><RmtInf><Ustrd>{text}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>"
        for amount, text in entries
    )
    name = "urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"
    told = f"<BkToCstmrStmt><Stmt>{body}</Stmt></BkToCstmrStmt>"
    return f'<Document xmlns="{name}">{told}</Document>'.encode()


def take_in(world: World, content: bytes, name: str = "statement.xml") -> BankImport:
    return bank_imports.take_in(filename=name, content=content, by=world.finance)


def only(row: BankImport) -> Proposal:
    [proposal] = proposals(row.lines.filter(state="open"))
    return proposal


def billed(world: World, position: int = 1, **terms: Any) -> Invoice:
    return world.invoice(world.active(**terms).milestones.get(position=position))


def test_the_same_file_twice_is_one_import(world: World) -> None:
    content = statement(("10.00", "x"))
    assert take_in(world, content) == take_in(world, content, "again.xml")
    assert BankLine.objects.count() == 1


def test_an_entry_in_two_files_is_known_once(world: World) -> None:
    take_in(world, statement(("10.00", "x")))
    second = take_in(world, statement(("10.00", "x"), ("20.00", "y")))
    assert (second.repeated_count, second.lines.count()) == (1, 1)


def test_a_table_waits_for_its_columns_and_they_are_remembered(world: World) -> None:
    content = (FILES / "german.csv").read_bytes()
    first = take_in(world, content, "august.csv")
    assert first.repeated_count is None
    for _ in range(2):
        first = bank_imports.choose_columns(bank_import=first, layout=GERMAN, by=world.finance)
    assert (first.lines.count(), first.passed_over_count) == (3, 1)
    second = take_in(world, content + b"03.09.2026;Third AG;abc;5,00;EUR\n", "september.csv")
    assert (second.repeated_count, second.lines.count()) == (3, 1)


def test_a_table_that_its_remembered_columns_do_not_fit_waits_for_others(world: World) -> None:
    content = (FILES / "german.csv").read_bytes()
    first = take_in(world, content, "august.csv")
    bank_imports.choose_columns(bank_import=first, layout=GERMAN, by=world.finance)
    second = take_in(world, content + b"2026-09-03;Third AG;abc;5,00;EUR\n", "september.csv")
    assert (second.repeated_count, second.layout) == (None, None)


def test_what_cannot_be_read_is_not_kept(world: World) -> None:
    for content in (b"words", statement(("many", "x")), b"x" * (bank_imports.MAX_BYTES + 1)):
        with pytest.raises(ApplicationError):
            take_in(world, content)
    assert not BankImport.objects.exists()


def test_only_finance_takes_in_assigns_and_sets_aside(world: World) -> None:
    row = take_in(world, statement(("10.00", "x")))
    line, invoice = row.lines.get(), billed(world)
    for by in (world.consultant, world.admin, world.signatory):
        for act in (
            lambda by=by: bank_imports.take_in(filename="x", content=b"x", by=by),
            lambda by=by: bank_imports.drop(bank_import=row, by=by),
            lambda by=by: bank_lines.assign(line=line, parts=[(invoice, D(10))], by=by),
            lambda by=by: bank_lines.set_aside(line=line, note="Why.", by=by),
        ):
            with pytest.raises(ApplicationError, match="finance"):
                act()


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Invoice INV-2026-0001", [("INV", 2026, 1)]),
        ("inv2026 0001 and INV/2026/0002", [("INV", 2026, 1), ("INV", 2026, 2)]),
        ("INV-20 26-00 01", [("INV", 2026, 1)]),
        ("INV-2026-12345", [("INV", 2026, 12345)]),
        ("MINV-2026-0001 order 2026", []),
        ("INV-2026-001", []),
    ],
)
def test_numbers_are_found_however_they_are_written(
    text: str, numbers: list[tuple[str, int, int]]
) -> None:
    assert quoted_numbers(text) == numbers


@pytest.mark.parametrize(
    ("amount", "fit", "left"),
    [
        ("14280.00", Fit.EXACT, "0"),
        ("14000.00", Fit.PART, "280.00"),
        ("15000.00", Fit.OVER, "-720.00"),
    ],
)
def test_money_goes_to_the_invoice_that_is_quoted(
    world: World, amount: str, fit: Fit, left: str
) -> None:
    invoice = billed(world)
    row = take_in(world, statement((amount, f"Thanks {invoice.reference}")))
    proposal = only(row)
    assert proposal.fit == fit
    done, refusals = bank_lines.assign_certain(proposals=[proposal], by=world.finance)
    assert (done, refusals) == (1, [])
    assert balance_of(invoice).open_amount == D(left)
    payment = Payment.objects.get()
    assert payment.bank_line == row.lines.get(state="assigned")


def test_one_transfer_for_two_invoices_is_divided(world: World) -> None:
    contract = world.active()
    first, second = (world.invoice(contract.milestones.get(position=n)) for n in (1, 2))
    row = take_in(world, statement(("21420.00", f"{first.reference} {second.reference}")))
    bank_lines.assign_certain(proposals=[only(row)], by=world.finance)
    assert [balance_of(invoice).open_amount for invoice in (first, second)] == [0, 0]


def test_two_transfers_for_one_invoice_do_not_both_fill_it(world: World) -> None:
    invoice = billed(world)
    row = take_in(
        world, statement(("14280.00", invoice.reference), ("14280.00", f"{invoice.reference} x"))
    )
    fits = [proposal.fit for proposal in proposals(row.lines.all())]
    assert fits == [Fit.EXACT, Fit.OVER]


def test_without_a_number_a_person_decides(world: World) -> None:
    invoice = billed(world)
    row = take_in(world, statement(("14280.00", "your kernel")))
    guess = only(row)
    assert (guess.fit, [part[0].pk for part in guess.parts]) == (Fit.GUESS, [invoice.pk])
    assert bank_lines.assign_certain(proposals=[guess], by=world.finance) == (0, [])
    assert not Payment.objects.exists()
    bank_lines.assign(line=guess.line, parts=guess.parts, by=world.finance)
    assert balance_of(invoice).open_amount == 0
    unknown = only(take_in(world, statement(("1.00", "hello"))))
    assert (unknown.fit, unknown.why_not) == (Fit.NONE, "No invoice is quoted.")


def test_an_ended_engagement_s_invoice_takes_what_quotes_it_and_is_offered_for_nothing_else(
    world: World,
) -> None:
    invoice = billed(world)
    closing.cancel(engagement=invoice.engagement, reason="Both agreed.", by=world.consultant)
    row = take_in(world, statement(("14280.00", invoice.reference), ("1.00", "hello")))
    crossed, other = row.lines.order_by("position")
    assert [each.fit for each in proposals([crossed, other])] == [Fit.OVER, Fit.NONE]
    assert (candidates(crossed), candidates(other)) == ([invoice], [])
    bank_lines.assign(line=crossed, parts=[(invoice, D("14280.00"))], by=world.finance)
    assert invoice in overpaid_invoices()


def test_another_currency_is_never_assigned(world: World) -> None:
    invoice = billed(world)
    row = take_in(world, statement(("14280.00", invoice.reference), currency="USD"))
    assert only(row).why_not == f"{invoice.reference} is in EUR."
    with pytest.raises(ApplicationError, match="is in EUR, not USD"):
        bank_lines.assign(line=row.lines.get(), parts=[(invoice, D("14280.00"))], by=world.finance)


def test_all_of_the_money_is_assigned_at_once_and_once(world: World) -> None:
    invoice = billed(world)
    line = take_in(world, statement(("100.00", "x"))).lines.get()
    for wrong in ([(invoice, D(99))], [(invoice, D(50)), (invoice, D(50))], []):
        with pytest.raises(ApplicationError, match="All of"):
            bank_lines.assign(line=line, parts=wrong, by=world.finance)
    for _ in range(2):
        bank_lines.assign(line=line, parts=[(invoice, D(100))], by=world.finance)
    assert Payment.objects.count() == 1
    with pytest.raises(ApplicationError, match="to other invoices"):
        bank_lines.assign(line=line, parts=[(billed(world), D(100))], by=world.finance)
    with pytest.raises(ApplicationError, match="assigned to an invoice already"):
        bank_lines.set_aside(line=line, note="No.", by=world.finance)


def test_what_is_for_no_invoice_is_set_aside_with_a_reason(world: World) -> None:
    line = take_in(world, statement(("100.00", "x"))).lines.get()
    with pytest.raises(ApplicationError, match="reason"):
        bank_lines.set_aside(line=line, note=" ", by=world.finance)
    aside = bank_lines.set_aside(line=line, note="A tax refund.", by=world.finance)
    assert (aside.state, aside.handled_by) == ("set_aside", world.finance)
    bank_lines.assign(line=aside, parts=[(billed(world), D(100))], by=world.finance)


def test_what_the_bank_said_is_never_changed(world: World) -> None:
    row = take_in(world, statement(("100.00", "x")))
    for change in (
        lambda: row.lines.update(amount=1),
        lambda: row.lines.all().delete(),
        lambda: BankImport.objects.update(content=b"x"),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            change()
    with pytest.raises(ApplicationError, match="it stays"):
        bank_imports.drop(bank_import=row, by=world.finance)


def test_the_database_lets_no_more_be_assigned_than_came_in(world: World) -> None:
    line, invoice = take_in(world, statement(("100.00", "x"))).lines.get(), billed(world)
    with refused("payment.bank_line"):
        Payment.objects.create(
            invoice=invoice,
            amount=101,
            received_on=line.booked_on,
            reference="x",
            bank_line=line,
            recorded_by=world.finance,
        )


def test_who_pays_in_parts_may_use_one_reference_for_all_of_them(world: World) -> None:
    invoice = billed(world)
    for day in ("2026-01-05", "2026-02-05"):
        row = take_in(world, statement(("100.00", "standing order"), day=day))
        for _ in range(2):
            line = bank_lines.assign(
                line=row.lines.get(), parts=[(invoice, D(100))], by=world.finance
            )
        assert line.payments.get().received_on == line.booked_on
    assert balance_of(invoice).received == D(200)
