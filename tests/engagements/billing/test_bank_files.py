"""Bank statements are parsed from several versions and notations, and hostile XML is refused."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from engagements.billing.bank_files import camt053, csv_file
from engagements.billing.bank_files.csv_file import Layout
from engagements.billing.bank_files.statement import UnreadableFile

HERE = Path(__file__).parent
GERMAN = Layout(
    booked_on=0,
    payer=1,
    text=2,
    amount=3,
    currency_column=4,
    payer_account=None,
    reference=None,
    currency="EUR",
    date_format="%d.%m.%Y",
    decimal_mark=",",
    account="DE89370400440532013000",
)
D = Decimal


def file(name: str) -> bytes:
    return (HERE / name).read_bytes()


def test_booked_entries_are_parsed_with_their_sign_and_lead_to_the_closing_balance() -> None:
    bank_file = camt053.read(file("v02.xml"))
    [statement] = bank_file.statements
    first, debit, reversal = statement.lines
    assert bank_file.skipped == 1
    assert (statement.account, statement.opening, statement.closing) == (
        "DE89370400440532013000",
        D("85569.99"),
        D("99999.99"),
    )
    assert (first.amount, first.currency, first.booked_on, first.valued_on) == (
        D("14280.00"),
        "EUR",
        date(2026, 9, 1),
        date(2026, 9, 1),
    )
    assert (first.payer, first.payer_account) == ("Longprompt AG", "DE02120300000000202051")
    assert first.text == "Invoice INV-2026- 0001 thank you E2E-4711"
    assert (first.reference, first.end_to_end_id) == ("2026090112345678", "E2E-4711")
    assert (debit.amount, reversal.is_reversal) == (D("-250.00"), True)


def test_the_same_entry_has_the_same_key_in_another_version() -> None:
    first, *_ = camt053.read(file("v02.xml")).lines
    assert camt053.read(file("v08.xml")).lines[0].key == first.key


def test_a_batch_entry_is_split_into_its_transactions() -> None:
    _, first, second = camt053.read(file("v08.xml")).lines
    assert [(entry.payer, entry.amount) for entry in (first, second)] == [
        ("First Ltd", D("100.00")),
        ("Second Ltd", D("50.00")),
    ]
    assert first.booked_on == date(2026, 9, 2)
    assert "INV20260002" in first.text
    assert first.key != second.key


@pytest.mark.parametrize(
    ("now", "then"),
    [
        (b' Ccy="EUR">14280', b">14280"),
        (b">14280.00<", b">NaN<"),
        (b">14280.00<", b">many<"),
        (b">14280.00<", b">142800000000000.00<"),
        (b">14280.00<", b">14280.005<"),
        (b">14280.00<", b">-14280.00<"),
        (b">14280.00<", b">1.428E4<"),
        (b">14280.00<", b">14_280.00<"),
        (b"<CdtDbtInd>CRDT</CdtDbtInd>", b""),
        (b"<CdtDbtInd>CRDT</CdtDbtInd>", b"<CdtDbtInd>CREDIT</CdtDbtInd>"),
        (b"2026-09-01</Dt></BookgDt>", b"0026-09-01</Dt></BookgDt>"),
        # Does not lead to the closing balance.
        (b">14280.00<", b">14280.01<"),
        (b"CLBD", b"ITBD"),
        (b"<Dt>2026-09-01</Dt></BookgDt>", b"<Dt>soon</Dt></BookgDt>"),
        (b"camt.053.001.02", b"camt.054.001.02"),
        (b"</Document>", b""),
    ],
)
def test_a_damaged_statement_is_refused(now: bytes, then: bytes) -> None:
    content = file("v02.xml").replace(now, then)
    assert content != file("v02.xml")
    with pytest.raises(UnreadableFile):
        camt053.read(content)


def test_no_entity_is_resolved_and_nothing_is_fetched() -> None:
    bomb = b"""<?xml version="1.0"?><!DOCTYPE Document [<!ENTITY a SYSTEM "file:///etc/passwd">]>
    <Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt>&a;
    </BkToCstmrStmt></Document>"""
    with pytest.raises(UnreadableFile):
        camt053.read(bomb)
    lol = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><x>&b;</x>'
    with pytest.raises(UnreadableFile):
        camt053.read(lol)


def test_the_heading_is_found_below_a_preamble() -> None:
    table = csv_file.open_table(file("german.csv"))
    assert table.head == ["Buchungstag", "Auftraggeber", "Verwendungszweck", "Betrag", "Waehrung"]
    assert len(table.rows) == 4


def test_columns_are_read_as_chosen() -> None:
    statement = csv_file.read(file("german.csv"), GERMAN)
    amounts = [entry.amount for entry in statement.lines]
    assert amounts == [D("14280.00"), D("-1200.00"), D("10.00"), D("10.00")]
    assert statement.skipped == 0
    assert statement.lines[0].text == "INV-2026-0001"


def test_identical_rows_keep_two_stable_keys() -> None:
    first, second = csv_file.read(file("german.csv"), GERMAN).lines[2:]
    assert first.key != second.key
    assert first.reference != second.reference
    again = csv_file.read(file("german.csv"), GERMAN).lines
    assert [entry.key for entry in again[2:]] == [first.key, second.key]


@pytest.mark.parametrize(
    ("content", "column"),
    [
        *((b"\x00\x01\x02", 2), (b"just words", 2), (b"a;b;c\n1.9.2026;x;1,0,0\n", 2)),
        *((b"a;b;c\n01.09.0026;x;1,00\n", 2), (None, 9)),
    ],
)
def test_a_file_without_the_chosen_columns_is_refused(content: bytes | None, column: int) -> None:
    changes = {"amount": column, "payer": None, "currency_column": None}
    with pytest.raises(UnreadableFile):
        csv_file.read(content or file("german.csv"), Layout(**(GERMAN.as_data() | changes)))


@pytest.mark.parametrize(
    ("mark", "typed", "amount"),
    [(",", "1.234,50", "1234.50"), (".", "1,234.50", "1234.50"), (".", "1 234.5", "1234.5")],
)
def test_amounts_are_parsed_by_the_chosen_decimal_mark(mark: str, typed: str, amount: str) -> None:
    layout = Layout(**(GERMAN.as_data() | {"decimal_mark": mark}))
    content = f'a;b;c;d;e\n01.09.2026;x;y;"{typed}";EUR\n'.encode()
    assert csv_file.read(content, layout).lines[0].amount == D(amount)


@pytest.mark.parametrize(
    ("mark", "typed"),
    [(",", "250.00"), (",", "1,234.50"), (".", "1.234,50"), (",", "1.23.456"), (",", "1,005")],
)
def test_an_amount_in_another_notation_is_refused(mark: str, typed: str) -> None:
    layout = Layout(**(GERMAN.as_data() | {"decimal_mark": mark}))
    content = f'a;b;c;d;e\n01.09.2026;x;y;"{typed}";EUR\n'.encode()
    with pytest.raises(UnreadableFile, match="Row 1"):
        csv_file.read(content, layout)
