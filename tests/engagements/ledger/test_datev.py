"""The DATEV file field by field, as developer.datev.de describes EXTF 700, Buchungsstapel 13."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from engagements.engagement.models import Engagement
from engagements.ledger import chart, datev
from engagements.ledger.models import Account, Entry, Leg
from engagements.people.models import Customer

D = Decimal
DAY = dt.date(2026, 3, 5)
BATCH = datev.Batch(
    adviser_number=29098,
    client_number=55003,
    first=dt.date(2026, 3, 1),
    last=dt.date(2026, 3, 31),
    currency="EUR",
    made_at=dt.datetime(2026, 4, 1, 14, 4, 40, 439_000, tzinfo=dt.UTC),
    is_final=True,
)
# The format of the filled fields, and of an empty one.
FIELDS = {
    "Umsatz (ohne Soll/Haben-Kz)": r"\d{1,10},\d{2}",
    "Soll/Haben-Kennzeichen": r'"[SH]"',
    "WKZ Umsatz": r'"[A-Z]{3}"',
    "Kurs": "",
    "Konto": r"\d{1,9}",
    "Gegenkonto (ohne BU-Schlüssel)": r"\d{1,9}",
    "BU-Schlüssel": r'"\d{0,4}"',
    "Belegdatum": r"(0[1-9]|[12]\d|3[01])(0[1-9]|1[0-2])",
    "Belegfeld 1": r'"[\w$%\-/]{1,36}"',
    "Belegfeld 2": r'"[\w$%\-/]{0,12}"',
    "Buchungstext": r'".{0,60}"',
    "EU-Land u. UStID (Bestimmung)": r'".{0,15}"',
    "Fälligkeit": r"(\d{8})?",
    "Auftragsnummer": r'".{0,30}"',
    "Festschreibung": "[01]",
}


CODES = {line.datev_number: line.code for line in chart.CHART}
VOUCHER = datev.Voucher(
    number="INV-2026-0007",
    second="CN-2026-0001",
    due_on=dt.date(2026, 3, 19),
    tax_rate=D(19),
    eu_vat_id="ATU13585627",
)


def legs(*amounts: tuple[str, str], customer: str = "Müller & Söhne GmbH") -> list[Leg]:
    """An entry's legs in memory: DATEV numbers with amounts."""
    engagement = Engagement(reference="TF-2026-0001", customer=Customer(pk=5, name=customer))
    entry = Entry(pk=1, kind="invoice_issued", key="invoice_issued:invoice:7", dated_on=DAY)
    return [
        Leg(
            pk=number,
            entry=entry,
            engagement=engagement,
            dated_on=DAY,
            account=Account(datev_number=account, code=CODES.get(account, ""), position=number),
            amount=D(amount),
            currency="EUR",
        )
        for number, (account, amount) in enumerate(amounts, start=1)
    ]


def written(rows: Sequence[Leg], *, batch: datev.Batch = BATCH) -> list[bytes]:
    return b"".join(datev.lines(batch, rows, {"invoice:7": VOUCHER})).split(b"\r\n")


def bookings(rows: Sequence[Leg]) -> list[dict[str, str]]:
    """Every booking by column, its fields as they stand in the file."""
    _, names, *lines, last = written(rows)
    assert last == b"", "the last line ends, too"
    columns = names.decode("cp1252").split(";")
    # No text here has a semicolon of its own.
    return [dict(zip(columns, line.decode("cp1252").split(";"), strict=True)) for line in lines]


def test_the_header_is_the_one_that_datev_shows() -> None:
    assert written([])[0].decode("cp1252") == (
        '"EXTF";700;21;"Buchungsstapel";13;20260401140440439;;"RE";"Twofold";"";29098;55003;'
        '20260101;4;20260301;20260331;"Twofold 2026-03-01 03-31";"";1;0;1;"EUR";;"";;;"04";;;"";""'
    )


def test_the_columns_are_datev_s_and_each_booking_has_them_all() -> None:
    assert len(datev.COLUMNS) == 125
    assert datev.COLUMNS[113] == "Festschreibung"
    assert datev.COLUMNS[-1] == "Abw. Skontokonto"
    assert len(bookings(legs(("1200", "119.00"), ("3900", "-100.00"), ("3800", "-19.00")))) == 1


def test_every_field_is_written_as_datev_reads_it() -> None:
    for booking in bookings(legs(("1200", "1234.56"), ("3900", "-1234.56"))):
        for place, (name, value) in enumerate(booking.items(), start=1):
            pattern = FIELDS.get(name, '""' if place in datev.TEXT else "")
            assert re.fullmatch(pattern, value), f"{name}: {value}"
        assert booking["Umsatz (ohne Soll/Haben-Kz)"] == "1234,56"
        assert booking["Belegdatum"] == "0503"
        # The debtor of customer 5, who is posted instead of the collective account.
        assert (booking["Konto"], booking["Gegenkonto (ohne BU-Schlüssel)"]) == ("10005", "3900")
        assert booking["Belegfeld 1"] == '"INV-2026-0007"'
        assert booking["Belegfeld 2"] == '"CN-2026-0001"'
        assert booking["EU-Land u. UStID (Bestimmung)"] == '"ATU13585627"'
        assert booking["Fälligkeit"] == "19032026"
        assert booking["Soll/Haben-Kennzeichen"] == '"S"'
        assert booking["Festschreibung"] == "1"


def test_bookings_add_up_to_their_entry_account_by_account() -> None:
    entry = (("1800", "50.00"), ("1200", "-119.00"), ("3900", "100.00"), ("3250", "-31.00"))
    sums: dict[str, Decimal] = {}
    for booking in bookings(legs(*entry)):
        amount = D(booking["Umsatz (ohne Soll/Haben-Kz)"].replace(",", "."))
        for name, sign in (("Konto", 1), ("Gegenkonto (ohne BU-Schlüssel)", -1)):
            sums[booking[name]] = sums.get(booking[name], D(0)) + sign * amount
    assert sums == {{"1200": "10005"}.get(code, code): D(amount) for code, amount in entry}


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (D(19), [("119,01", "10005", "3900", '"3"'), ("118,99", "10005", "4200", '"3"')]),
        # DATEV has no key for it: net and tax apart.
        (D("25.5"), [("100,01", "10005", "3900", '""'), ("99,99", "10005", "4200", '""')]),
    ],
)
def test_revenue_is_gross_with_its_tax_key(
    monkeypatch: pytest.MonkeyPatch, rate: Decimal, expected: list[tuple[str, ...]]
) -> None:
    monkeypatch.setattr(f"{__name__}.VOUCHER", replace(VOUCHER, tax_rate=rate))
    rows = legs(("1200", "238.00"), ("3900", "-100.01"), ("4200", "-99.99"), ("3800", "-38.00"))
    columns = ("Umsatz (ohne Soll/Haben-Kz)", "Konto", "Gegenkonto (ohne BU-Schlüssel)")
    # In a credit note, too, the key is that of the account in Gegenkonto.
    [note] = bookings(legs(("1200", "-1.19"), ("3900", "1.00"), ("3800", "0.19")))[:1]
    if rate == 19:
        assert [note[name] for name in columns] == ["1,19", "10005", "3900"]
        assert note["Soll/Haben-Kennzeichen"] == '"H"'
    found = [
        (*(booking[name] for name in columns), booking["BU-Schlüssel"])
        for booking in bookings(rows)
    ]
    assert found[:2] == expected


def test_accounts_are_those_of_the_chosen_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.BATCH", replace(BATCH, chart=datev.SKR03))
    [booking] = written(legs(("3630", "5.00"), ("6855", "-5.00")), batch=BATCH)[2:-1]
    assert b";1792;4970;" in booking
    assert b'"03"' in written([], batch=BATCH)[0]
    # A number that finance has edited is kept.
    assert datev.account_number(Account(code="bank", datev_number="1810"), skr="03") == "1810"
    numbers = [datev.account_number(row, skr="03") for row in map(_account, chart.CHART)]
    assert len(set(numbers)) == len(chart.CHART)


def test_shorter_account_numbers_end_in_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = [*map(_account, chart.CHART), Account(code="bank", datev_number="18105")]
    batch = replace(BATCH, chart=datev.SKR03, digits=datev.digits_of(accounts))
    monkeypatch.setattr(f"{__name__}.BATCH", batch)
    [booking] = written(legs(("1200", "5.00"), ("3900", "-5.00")), batch=batch)[2:-1]
    assert b";100005;09900;" in booking
    assert written([], batch=batch)[0].split(b";")[13] == b"5"


def _account(line: chart.ChartLine) -> Account:
    return Account(code=line.code, datev_number=line.datev_number)


def test_a_name_breaks_neither_its_line_nor_the_code_page() -> None:
    rows = legs(("1200", "1.00"), ("3900", "-1.00"), customer='Ä "B";\r\nГ')
    lines = written(rows)
    assert len(lines) == 4
    assert "Ä".encode("cp1252") in lines[2]
    [fields] = csv.reader(io.StringIO(lines[2].decode("cp1252")), delimiter=";")
    assert fields[13] == 'TF-2026-0001 Ä "B"; ?: Invoice issued'


def test_another_currency_has_its_rate_and_its_amount_in_euros() -> None:
    batch = replace(BATCH, currency="USD", rate=D("1.08"))
    _, names, line, _ = written(legs(("1200", "108.00"), ("3900", "-108.00")), batch=batch)
    fields = dict(
        zip(names.decode("cp1252").split(";"), line.decode("cp1252").split(";"), strict=True)
    )
    assert fields["Umsatz (ohne Soll/Haben-Kz)"] == "108,00"
    # As in the published expression, and only with all of fields 4 to 6.
    assert re.fullmatch(r"[1-9]\d{0,3},\d{2,6}", fields["Kurs"])
    assert (fields["Kurs"], fields["Basis-Umsatz"]) == ("1,080000", "100,00")
    assert (fields["WKZ Umsatz"], fields["WKZ Basis-Umsatz"]) == ('"USD"', '"EUR"')
    assert b'"EUR";;' in written([], batch=batch)[0]


@pytest.mark.parametrize(
    "changes", [{"currency": "USD"}, {"currency": "KWD"}, {"last": dt.date(2027, 1, 31)}]
)
def test_an_unsupported_batch_is_refused(changes: dict[str, Any]) -> None:
    batch = replace(BATCH, **changes)
    assert datev.blocking_reason(batch)
    with pytest.raises(ValueError, match=r"DATEV"):
        written([], batch=batch)
