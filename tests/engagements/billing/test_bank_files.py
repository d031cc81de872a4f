"""Bank files become entries: several versions, several notations, and nothing that bites."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from engagements.billing.bank_files import Unreadable, camt053, csv_file
from engagements.billing.bank_files.csv_file import Layout

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
)
D = Decimal


def file(name: str) -> bytes:
    return (HERE / name).read_bytes()


def test_only_booked_credits_that_reverse_nothing_come_in() -> None:
    statement = camt053.read(file("v02.xml"))
    [entry] = statement.entries
    assert statement.passed_over == 3
    assert (entry.amount, entry.currency, entry.booked_on) == (
        D("14280.00"),
        "EUR",
        date(2026, 9, 1),
    )
    assert (entry.payer, entry.payer_account) == ("Longprompt AG", "DE02120300000000202051")
    assert entry.text == "Invoice INV-2026- 0001 thank you E2E-4711"
    assert entry.reference == "2026090112345678"


@pytest.mark.parametrize("amount", [b"0.00", b"-14280.00"])
def test_an_entry_of_nothing_is_passed_over(amount: bytes) -> None:
    statement = camt053.read(file("v02.xml").replace(b">14280.00<", b">" + amount + b"<"))
    assert (statement.entries, statement.passed_over) == ((), 4)


def test_the_same_entry_has_the_same_key_in_another_version() -> None:
    [first] = camt053.read(file("v02.xml")).entries
    assert camt053.read(file("v08.xml")).entries[0].key == first.key


def test_an_entry_that_collects_several_transfers_is_read_one_by_one() -> None:
    _, first, second = camt053.read(file("v08.xml")).entries
    assert [(entry.payer, entry.amount) for entry in (first, second)] == [
        ("First Ltd", D("100.00")),
        ("Second Ltd", D("50.00")),
    ]
    assert first.booked_on == date(2026, 9, 2)
    assert "INV20260002" in first.text
    assert first.key != second.key


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((b' Ccy="EUR">14280', b">14280"), "names no currency"),
        ((b">14280.00<", b">NaN<"), "amount cannot be read"),
        ((b">14280.00<", b">many<"), "amount cannot be read"),
        ((b">14280.00<", b">142800000000000.00<"), "more than an amount can be"),
        ((b">14280.00<", b">14280.005<"), "not an exact amount of EUR"),
        ((b"<Dt>2026-09-01</Dt></BookgDt>", b"<Dt>soon</Dt></BookgDt>"), "no day of booking"),
        ((b"camt.053.001.02", b"camt.054.001.02"), "no CAMT.053"),
        ((b"</Document>", b""), "no well-formed XML"),
    ],
)
def test_a_damaged_statement_says_what_is_wrong(change: tuple[bytes, bytes], said: str) -> None:
    content = file("v02.xml").replace(*change)
    with pytest.raises(Unreadable, match=said):
        camt053.read(content)


def test_no_entity_is_resolved_and_nothing_is_fetched() -> None:
    bomb = b"""<?xml version="1.0"?><!DOCTYPE Document [<!ENTITY a SYSTEM "file:///etc/passwd">]>
    <Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt>&a;
    </BkToCstmrStmt></Document>"""
    with pytest.raises(Unreadable, match="no document type"):
        camt053.read(bomb)
    lol = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><x>&b;</x>'
    with pytest.raises(Unreadable):
        camt053.read(lol)


def test_a_table_is_found_below_what_the_bank_writes_above_it() -> None:
    table = csv_file.open_table(file("german.csv"))
    assert table.head == ["Buchungstag", "Auftraggeber", "Verwendungszweck", "Betrag", "Waehrung"]
    assert len(table.rows) == 4


def test_columns_are_read_as_chosen_and_debits_passed_over() -> None:
    statement = csv_file.read(file("german.csv"), GERMAN)
    assert [entry.amount for entry in statement.entries] == [D("14280.00"), D("10.00"), D("10.00")]
    assert statement.passed_over == 1
    assert statement.entries[0].text == "INV-2026-0001"


def test_two_rows_that_are_alike_are_two_and_the_same_two_each_time() -> None:
    first, second = csv_file.read(file("german.csv"), GERMAN).entries[1:]
    assert first.key != second.key
    assert first.reference != second.reference
    again = csv_file.read(file("german.csv"), GERMAN).entries
    assert [entry.key for entry in again[1:]] == [first.key, second.key]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x00\x01\x02", "no text file|no table"),
        (b"just words", "no table"),
        (b"a;b;c\n1.9.2026;x;1,0,0\n", "no day as chosen|no amount as chosen"),
    ],
)
def test_what_is_no_table_is_refused(content: bytes, said: str) -> None:
    layout = Layout(**(GERMAN.as_data() | {"amount": 2, "payer": None, "currency_column": None}))
    with pytest.raises(Unreadable, match=said):
        csv_file.read(content, layout)


def test_columns_of_another_file_are_refused() -> None:
    layout = Layout(**(GERMAN.as_data() | {"amount": 9}))
    with pytest.raises(Unreadable, match="not those of this file"):
        csv_file.read(file("german.csv"), layout)


@pytest.mark.parametrize(
    ("mark", "typed", "amount"),
    [(",", "1.234,50", "1234.50"), (".", "1,234.50", "1234.50"), (".", "1 234.5", "1234.5")],
)
def test_amounts_are_read_by_the_mark_that_was_chosen(mark: str, typed: str, amount: str) -> None:
    layout = Layout(**(GERMAN.as_data() | {"decimal_mark": mark}))
    content = f'a;b;c;d;e\n01.09.2026;x;y;"{typed}";EUR\n'.encode()
    assert csv_file.read(content, layout).entries[0].amount == D(amount)


@pytest.mark.parametrize(
    ("mark", "typed"),
    [(",", "250.00"), (",", "1,234.50"), (".", "1.234,50"), (",", "1.23.456"), (",", "1,005")],
)
def test_an_amount_that_does_not_fit_the_mark_is_not_read_as_another(mark: str, typed: str) -> None:
    layout = Layout(**(GERMAN.as_data() | {"decimal_mark": mark}))
    content = f'a;b;c;d;e\n01.09.2026;x;y;"{typed}";EUR\n'.encode()
    with pytest.raises(Unreadable, match="Row 1 below the heading"):
        csv_file.read(content, layout)
