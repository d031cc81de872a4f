"""Bank statements are imported once and reconciled with the invoices that payers quote."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import IntegrityError

from engagements import closing
from engagements.billing import bank_imports, reconciliation
from engagements.billing.balances import balance_of
from engagements.billing.bank_models import BankImport, BankLine, BankStatement
from engagements.billing.line_proposals import (
    Match,
    Proposal,
    assignable_invoices,
    proposals,
    quoted_numbers,
)
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.ledger import chart
from engagements.ledger.models import Leg
from engagements.payouts.queries import overpaid_invoices
from tests.engagements.billing.test_bank_files import GERMAN
from tests.engagements.world import World, days, today, undone
from tests.errors import declined

GERMAN_CSV = (Path(__file__).parent / "german.csv").read_bytes()
OURS = settings.BANK_ACCOUNT["iban"]
D = Decimal


def statement(
    *entries: tuple[str, str],
    currency: str = "EUR",
    day: str = "2026-01-05",
    iban: str = OURS,
    opening: Decimal | None = None,
    details: str = "",
) -> bytes:
    """A CAMT.053 file of (amount, text) entries, each with a reference of the bank's own.

    Negative amounts are debits. Without an `opening` balance it continues the last statement;
    `details` is XML of each transaction.
    """
    fresh = sum(
        (D(amount) for amount, text in entries if not _is_known(f"{amount}-{text}", day)), D(0)
    )
    total = sum((D(amount) for amount, _ in entries), D(0))
    if opening is None:
        last = BankStatement.objects.filter(account=iban, currency=currency).last()
        opening = (last.chain_end or D(0) if last else D(0)) + fresh - total
    body = "".join(
        f"<Ntry>{_money(amount, currency)}<Sts>BOOK</Sts><BookgDt><Dt>{day}</Dt></BookgDt>"
        f"<AcctSvcrRef>{amount}-{text}</AcctSvcrRef><NtryDtls><TxDtls>{details}<RmtInf><Ustrd>"
        f"{text}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>"
        for amount, text in entries
    )
    balances = "".join(
        f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp>{_money(str(value), currency)}</Bal>"
        for code, value in (("OPBD", opening), ("CLBD", opening + total))
    )
    name = "urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"
    account = f"<Acct><Id><IBAN>{iban}</IBAN></Id></Acct>"
    stmt = f"<BkToCstmrStmt><Stmt>{account}{balances}{body}</Stmt></BkToCstmrStmt>"
    return f'<Document xmlns="{name}">{stmt}</Document>'.encode()


def _money(amount: str, currency: str) -> str:
    side = "DBIT" if amount.startswith("-") else "CRDT"
    return f'<Amt Ccy="{currency}">{amount.lstrip("-")}</Amt><CdtDbtInd>{side}</CdtDbtInd>'


def _is_known(reference: str, day: str) -> bool:
    return BankLine.objects.filter(entry_reference=reference, booked_on=day).exists()


def imported(world: World, content: bytes, name: str = "statement.xml") -> BankImport:
    return bank_imports.import_file(filename=name, content=content, by=world.finance)


def only(row: BankImport) -> Proposal:
    [proposal] = proposals(row.lines.filter(state="open"))
    return proposal


def billed(world: World, position: int = 1, **terms: Any) -> Invoice:
    return world.invoice(world.active(**terms).milestones.get(position=position))


def test_a_file_and_a_line_are_imported_once(world: World) -> None:
    content = statement(("10.00", "x"))
    assert imported(world, content) == imported(world, content, "again.xml")
    second = imported(world, statement(("10.00", "x"), ("20.00", "y")))
    assert (second.repeated_count, second.lines.count()) == (1, 1)
    assert BankLine.objects.count() == 2


def test_a_table_waits_for_its_columns_and_they_are_remembered(world: World) -> None:
    first = imported(world, GERMAN_CSV, "august.csv")
    assert first.repeated_count is None
    for _ in range(2):
        first = bank_imports.choose_columns(bank_import=first, layout=GERMAN, by=world.finance)
    assert (first.lines.count(), first.passed_over_count) == (4, 0)
    second = imported(world, GERMAN_CSV + b"03.09.2026;Third AG;abc;5,00;EUR\n", "september.csv")
    assert (second.repeated_count, second.lines.count()) == (4, 1)
    third = imported(world, GERMAN_CSV + b"2026-10-03;Third AG;abc;5,00;EUR\n", "october.csv")
    assert (third.repeated_count, third.layout) == (None, None)


def test_an_unreadable_file_is_not_stored(world: World) -> None:
    for content, code in (
        (b"words", "bank_file.unreadable"),
        (b"<Document><Broken", "bank_file.unreadable"),
        (statement(("10.00", "x")).replace(b">10.00<", b">many<"), "bank_file.unreadable"),
        (b"x" * (bank_imports.MAX_BYTES + 1), "bank_file.too_large"),
    ):
        with declined(code):
            imported(world, content)
    assert not BankImport.objects.exists()


def test_a_file_of_an_account_that_is_not_ours_is_declined(world: World) -> None:
    with declined("bank_file.other_account"):
        imported(world, statement(("10.00", "x"), iban="DE02120300000000202051"))
    assert not BankImport.objects.exists()


def test_statements_continue_each_other(world: World) -> None:
    imported(world, statement(("10.00", "a"), opening=D(100)))
    with declined("bank_file.gap"):
        imported(world, statement(("5.00", "c"), opening=D(111)))
    imported(world, statement(("-1.00", "b"), opening=D(110)))
    # Repeats one line, adds one; then one before the first.
    imported(world, statement(("-1.00", "b"), ("5.00", "c"), opening=D(110)))
    imported(world, statement(("40.00", "earlier"), opening=D(60), day="2026-01-02"))
    last = BankStatement.objects.last()
    assert last is not None
    assert (last.chain_start, last.chain_end) == (D(60), D(114))


def test_the_ledgers_bank_is_the_sum_of_its_lines_and_suspense_holds_the_open_ones(
    world: World,
) -> None:
    invoice = billed(world)
    row = imported(
        world, statement(("14280.00", invoice.reference), ("-900.00", "rent"), ("7.00", "?"))
    )
    assert (balance(chart.BANK), balance(chart.SUSPENSE)) == (D(13387), D(-13387))
    reconciliation.assign_certain(proposals=proposals(row.lines.all()), by=world.finance)
    rent = row.lines.get(amount=-900)
    for _ in range(2):
        reconciliation.set_aside(line=rent, note="Rent.", by=world.finance)
    assert (balance(chart.BANK), balance(chart.SUSPENSE)) == (D(13387), D(-7))
    assert balance(chart.OUTSIDE) == D(900)


def balance(code: str) -> Decimal:
    """An account's balance over all engagements and none."""
    legs = Leg.objects.filter(account__code=code)
    return sum((leg.amount for leg in legs), D(0))


def test_only_finance_reconciles(world: World) -> None:
    row = imported(world, statement(("10.00", "x")))
    line, invoice = row.lines.get(), billed(world)
    for by in (world.consultant, world.admin, world.signatory):
        for act in (
            lambda by=by: bank_imports.import_file(filename="x", content=b"x", by=by),
            lambda by=by: bank_imports.delete(bank_import=row, by=by),
            lambda by=by: reconciliation.assign(line=line, parts=[(invoice, D(10))], by=by),
            lambda by=by: reconciliation.set_aside(line=line, note="Why.", by=by),
        ):
            with declined("access.finance_only"):
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
def test_invoice_numbers_are_found_in_any_notation(
    text: str, numbers: list[tuple[str, int, int]]
) -> None:
    assert quoted_numbers(text) == numbers


@pytest.mark.parametrize(
    ("amount", "match", "remaining"),
    [
        ("14280.00", Match.EXACT, "0"),
        ("14000.00", Match.PART, "280.00"),
        ("15000.00", Match.OVER, "-720.00"),
    ],
)
def test_a_line_pays_the_invoice_that_it_quotes(
    world: World, amount: str, match: Match, remaining: str
) -> None:
    invoice = billed(world)
    row = imported(world, statement((amount, f"Thanks {invoice.reference}")))
    proposal = only(row)
    assert proposal.match == match
    assert reconciliation.assign_certain(proposals=[proposal], by=world.finance) == (1, [])
    assert balance_of(invoice).open_amount == D(remaining)
    assert Payment.objects.get().bank_line == row.lines.get(state="assigned")


def test_one_transfer_pays_two_invoices_and_two_transfers_share_one(world: World) -> None:
    contract = world.active()
    first, second = (world.invoice(contract.milestones.get(position=n)) for n in (1, 2))
    row = imported(
        world, statement(("14280.00", first.reference), ("14280.00", f"{first.reference} x"))
    )
    assert [each.match for each in proposals(row.lines.all())] == [Match.EXACT, Match.OVER]
    row = imported(world, statement(("21420.00", f"{first.reference} {second.reference}")))
    reconciliation.assign_certain(proposals=[only(row)], by=world.finance)
    assert [balance_of(invoice).open_amount for invoice in (first, second)] == [0, 0]


def test_a_line_that_the_bank_values_some_days_ahead_is_paid_on_its_value_date(
    world: World,
) -> None:
    invoice, later = billed(world), (today() + days(2)).isoformat()
    content = statement(("14280.00", invoice.reference), day=today().isoformat())
    value = f"</BookgDt><ValDt><Dt>{later}</Dt></ValDt>".encode()
    row = imported(world, content.replace(b"</BookgDt>", value))
    reconciliation.assign_certain(proposals=[only(row)], by=world.finance)
    assert Payment.objects.get().received_on.isoformat() == later


def test_without_a_number_a_person_decides(world: World) -> None:
    invoice = billed(world)
    row = imported(world, statement(("14280.00", "your kernel")))
    guess = only(row)
    assert (guess.match, [part[0].pk for part in guess.parts]) == (Match.BY_AMOUNT, [invoice.pk])
    assert reconciliation.assign_certain(proposals=[guess], by=world.finance) == (0, [])
    assert not Payment.objects.exists()
    reconciliation.assign(line=guess.line, parts=guess.parts, by=world.finance)
    assert balance_of(invoice).open_amount == 0
    assert only(imported(world, statement(("1.00", "hello")))).match == Match.NONE


def test_an_invoice_of_an_ended_engagement_is_offered_only_where_it_is_quoted(
    world: World,
) -> None:
    invoice = billed(world)
    closing.cancel(engagement=invoice.engagement, reason="Both agreed.", by=world.consultant)
    row = imported(world, statement(("14280.00", invoice.reference), ("1.00", "hello")))
    crossed, other = row.lines.order_by("position")
    assert [each.match for each in proposals([crossed, other])] == [Match.OVER, Match.NONE]
    assert (assignable_invoices(crossed), assignable_invoices(other)) == ([invoice], [])
    reconciliation.assign(line=crossed, parts=[(invoice, D("14280.00"))], by=world.finance)
    assert invoice in overpaid_invoices()


def test_another_currency_is_never_assigned(world: World) -> None:
    invoice = billed(world)
    row = imported(world, statement(("14280.00", invoice.reference), currency="USD"))
    assert only(row).match == Match.NONE
    with declined("bank_line.other_currency"):
        reconciliation.assign(
            line=row.lines.get(), parts=[(invoice, D("14280.00"))], by=world.finance
        )


def test_a_line_is_assigned_in_full_and_once(world: World) -> None:
    invoice = billed(world)
    line = imported(world, statement(("100.00", "x"))).lines.get()
    for wrong, code in (
        ([(invoice, D(99))], "bank_line.not_fully_assigned"),
        ([(invoice, D(50)), (invoice, D(50))], "bank_line.invoice_twice"),
        ([], "bank_line.not_fully_assigned"),
    ):
        with declined(code):
            reconciliation.assign(line=line, parts=wrong, by=world.finance)
    for _ in range(2):
        reconciliation.assign(line=line, parts=[(invoice, D(100))], by=world.finance)
    assert Payment.objects.count() == 1
    with declined("bank_line.assigned_differently"):
        reconciliation.assign(line=line, parts=[(billed(world), D(100))], by=world.finance)
    with declined("bank_line.assigned"):
        reconciliation.set_aside(line=line, note="No.", by=world.finance)


def test_a_line_is_set_aside_and_may_still_be_assigned(world: World) -> None:
    line = imported(world, statement(("100.00", "x"))).lines.get()
    aside = reconciliation.set_aside(line=line, note="A tax refund.", by=world.finance)
    assert (aside.state, aside.handled_by) == ("set_aside", world.finance)
    reconciliation.assign(line=aside, parts=[(billed(world), D(100))], by=world.finance)


def test_an_imported_statement_is_immutable(world: World) -> None:
    row = imported(world, statement(("100.00", "x")))
    line, invoice = row.lines.get(), billed(world)
    for change in (
        lambda: row.lines.update(amount=1),
        lambda: row.lines.all().delete(),
        lambda: BankImport.objects.update(content=b"x"),
        # More than the line has.
        lambda: Payment.objects.create(
            invoice=invoice,
            amount=101,
            received_on=line.booked_on,
            reference="x",
            bank_line=line,
            recorded_by=world.finance,
        ),
    ):
        with undone(), pytest.raises(IntegrityError):
            change()
    with declined("bank_file.delete_parsed"):
        bank_imports.delete(bank_import=row, by=world.finance)


def test_instalments_may_have_one_bank_reference(world: World) -> None:
    invoice = billed(world)
    for day in ("2026-01-05", "2026-02-05"):
        row = imported(world, statement(("100.00", "standing order"), day=day))
        for _ in range(2):
            line = reconciliation.assign(
                line=row.lines.get(), parts=[(invoice, D(100))], by=world.finance
            )
        assert line.payments.get().received_on == line.booked_on
    assert balance_of(invoice).received == D(200)
