"""The ledger as a DATEV file: EXTF 700, category 21 (Buchungsstapel), format version 13.

One header line, one line of column names, one line a booking between two accounts; semicolons,
text in quotes, amounts with a comma, Windows line ends, code page 1252. Source: the format
description at developer.datev.de, "Buchungsstapel".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from itertools import groupby

from engagements.common.money import minor_digits, quantize
from engagements.ledger.models import Leg

ENCODING = "cp1252"
LINE_END = "\r\n"
# Accounts of the ledger have at most as many digits as general ledger accounts in DATEV.
ACCOUNT_DIGITS = 4
# What field 11, the number of a document, may hold.
NOT_IN_A_REFERENCE = re.compile(r"[^A-Za-z0-9$&%*+\-/]")
AMOUNT_DECIMALS = 2
REFERENCE_LENGTH, TEXT_LENGTH, DESCRIPTION_LENGTH = 36, 60, 30


def _pairs(kind: str, content: str, count: int) -> list[str]:
    return [f"{name} {number}" for number in range(1, count + 1) for name in (kind, content)]


COLUMNS = (
    *("Umsatz (ohne Soll/Haben-Kz)", "Soll/Haben-Kennzeichen", "WKZ Umsatz", "Kurs"),
    *("Basis-Umsatz", "WKZ Basis-Umsatz", "Konto", "Gegenkonto (ohne BU-Schlüssel)"),
    *("BU-Schlüssel", "Belegdatum", "Belegfeld 1", "Belegfeld 2", "Skonto", "Buchungstext"),
    *("Postensperre", "Diverse Adressnummer", "Geschäftspartnerbank", "Sachverhalt"),
    *("Zinssperre", "Beleglink"),
    *_pairs("Beleginfo - Art", "Beleginfo - Inhalt", 8),
    *("KOST1 - Kostenstelle", "KOST2 - Kostenstelle", "Kost-Menge"),
    *("EU-Land u. UStID (Bestimmung)", "EU-Steuersatz (Bestimmung)", "Abw. Versteuerungsart"),
    *("Sachverhalt L+L", "Funktionsergänzung L+L", "BU 49 Hauptfunktionstyp"),
    *("BU 49 Hauptfunktionsnummer", "BU 49 Funktionsergänzung"),
    # The missing space is DATEV's.
    *_pairs("Zusatzinformation - Art", "Zusatzinformation- Inhalt", 20),
    *("Stück", "Gewicht", "Zahlweise", "Forderungsart", "Veranlagungsjahr"),
    *("Zugeordnete Fälligkeit", "Skontotyp", "Auftragsnummer", "Buchungstyp"),
    *("USt-Schlüssel (Anzahlungen)", "EU-Land (Anzahlungen)", "Sachverhalt L+L (Anzahlungen)"),
    *("EU-Steuersatz (Anzahlungen)", "Erlöskonto (Anzahlungen)", "Herkunft-Kz", "Buchungs GUID"),
    *("KOST-Datum", "SEPA-Mandatsreferenz", "Skontosperre", "Gesellschaftername"),
    *("Beteiligtennummer", "Identifikationsnummer", "Zeichnernummer", "Postensperre bis"),
    *("Bezeichnung SoBil-Sachverhalt", "Kennzeichen SoBil-Buchung", "Festschreibung"),
    *("Leistungsdatum", "Datum Zuord. Steuerperiode", "Fälligkeit", "Generalumkehr (GU)"),
    *("Steuersatz", "Land", "Abrechnungsreferenz", "BVV-Position"),
    *("EU-Land u. UStID (Ursprung)", "EU-Steuersatz (Ursprung)", "Abw. Skontokonto"),
)
_PLACE = {name: place for place, name in enumerate(COLUMNS)}
# Columns of text, counted from one as DATEV does: in quotes even where nothing is said.
TEXT = frozenset(
    (
        *(2, 3, 6, 9, 11, 12, 14, 16, *range(20, 39), 40, 42, *range(48, 88), 91, 95, 96, 98),
        *(102, 103, 105, 107, 109, 110, 112, 118, 120, 121, 123),
    )
)
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


@dataclass(frozen=True)
class Batch:
    """For whom and what a file is: the adviser's and the client's number, days, currency.

    `first` and `last` lie in one calendar year, which is the fiscal year. `is_final` says that
    DATEV may not change what it takes in: closed months are.
    """

    adviser_number: int
    client_number: int
    first: date
    last: date
    currency: str
    made_at: datetime
    is_final: bool = False


@dataclass(frozen=True)
class Booking:
    """An amount (positive) from the account on the credit side to that on the debit side."""

    amount: Decimal
    debit: str
    credit: str
    leg: Leg


def obstacle(batch: Batch) -> str | None:
    """Why there is no such file; None where there is one."""
    if batch.first.year != batch.last.year:
        return "A DATEV file holds days of one year."
    if minor_digits(batch.currency) > AMOUNT_DECIMALS:
        return f"DATEV's amounts have two decimals, those of {batch.currency} more."
    return None


def lines(batch: Batch, legs: Iterable[Leg], names: Mapping[str, str]) -> Iterator[bytes]:
    """The file, line by line. `legs` are all of `batch.currency`, entry by entry.

    `names` says by which number a fact's subject (such as invoice:17) is known on paper.
    ValueError where `obstacle` has one.
    """
    hindrance = obstacle(batch)
    if hindrance:
        raise ValueError(hindrance)
    yield _encoded(header(batch))
    yield _encoded(COLUMNS)
    for _, group in groupby(legs, key=lambda leg: leg.entry_id):
        for booking in bookings(list(group)):
            yield _encoded(row(booking, batch, names))


def header(batch: Batch) -> list[str]:
    """The first line: 31 fields."""
    return [
        *(_text("EXTF"), "700", "21", _text("Buchungsstapel"), "13"),
        *(f"{batch.made_at:%Y%m%d%H%M%S}{batch.made_at.microsecond // 1000:03d}", ""),
        *(_text("RE"), _text("Twofold"), _text("")),
        *(str(batch.adviser_number), str(batch.client_number)),
        *(f"{batch.first.year}0101", str(ACCOUNT_DIGITS)),
        *(f"{batch.first:%Y%m%d}", f"{batch.last:%Y%m%d}"),
        _text(f"Twofold {batch.first:%Y-%m-%d} {batch.last:%m-%d}"[:DESCRIPTION_LENGTH]),
        *(_text(""), "1", "0", str(int(batch.is_final)), _text(batch.currency)),
        *("", _text(""), "", "", _text("04"), "", "", _text(""), _text("")),
    ]


def bookings(legs: Sequence[Leg]) -> list[Booking]:
    """The legs of one entry as bookings between two accounts, the largest paired first.

    DATEV's format knows no booking with many accounts on both sides; debits and credits of an
    entry are the same in sum, so nothing is left over.
    """
    debits = sorted((leg for leg in legs if leg.amount > 0), key=lambda leg: -leg.amount)
    credits = sorted((leg for leg in legs if leg.amount < 0), key=lambda leg: leg.amount)
    left = {leg.pk: abs(leg.amount) for leg in legs}
    found = []
    for debit in debits:
        for credit in credits:
            amount = min(left[debit.pk], left[credit.pk])
            if amount > 0:
                left[debit.pk] -= amount
                left[credit.pk] -= amount
                found.append(
                    Booking(amount, debit.account.datev_number, credit.account.datev_number, debit)
                )
    return found


def row(booking: Booking, batch: Batch, names: Mapping[str, str]) -> list[str]:
    """One booking: 125 fields, those that are not said empty."""
    entry, engagement = booking.leg.entry, booking.leg.engagement
    subject = entry.key.partition(":")[2]
    reference = NOT_IN_A_REFERENCE.sub("-", names.get(subject, subject))
    text = f"{engagement.reference} {engagement.customer.name}: {entry.get_kind_display()}"
    fields = [_text("") if place in TEXT else "" for place in range(1, len(COLUMNS) + 1)]
    for name, value in {
        "Umsatz (ohne Soll/Haben-Kz)": _amount(booking.amount, batch.currency),
        "Soll/Haben-Kennzeichen": _text("S"),
        "WKZ Umsatz": _text(batch.currency),
        "Konto": booking.debit,
        "Gegenkonto (ohne BU-Schlüssel)": booking.credit,
        "Belegdatum": f"{booking.leg.dated_on:%d%m}",
        "Belegfeld 1": _text(reference[:REFERENCE_LENGTH]),
        "Buchungstext": _text(text[:TEXT_LENGTH]),
        "Auftragsnummer": _text(engagement.reference[:30]),
        "Festschreibung": str(int(batch.is_final)),
    }.items():
        fields[_PLACE[name]] = value
    return fields


def _amount(amount: Decimal, currency: str) -> str:
    """Two decimals after a comma, no grouping."""
    return f"{quantize(amount, currency):.{AMOUNT_DECIMALS}f}".replace(".", ",")


def _text(value: str) -> str:
    """In quotes, those within doubled; a line break within would end the booking."""
    value = CONTROL_CHARACTERS.sub(" ", value)
    return '"' + value.replace('"', '""') + '"'


def _encoded(fields: Iterable[str]) -> bytes:
    # What code page 1252 lacks becomes a question mark, as DATEV itself writes it.
    return (";".join(fields) + LINE_END).encode(ENCODING, errors="replace")
