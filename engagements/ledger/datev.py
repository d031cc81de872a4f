"""Export the ledger to DATEV: EXTF 700, category 21 (Buchungsstapel), format version 13.

A header line, a line of column names, then one line per booking between two accounts. Fields
are separated by semicolons, text is quoted, amounts have a decimal comma, lines end in CRLF, the
encoding is Windows-1252. Source: developer.datev.de, "Buchungsstapel".
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
# The length of general ledger account numbers in DATEV.
ACCOUNT_DIGITS = 4
# Characters not allowed in field 11, the document number.
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
# Text columns, counted from one as DATEV does: quoted even if empty.
TEXT = frozenset(
    (
        *(2, 3, 6, 9, 11, 12, 14, 16, *range(20, 39), 40, 42, *range(48, 88), 91, 95, 96, 98),
        *(102, 103, 105, 107, 109, 110, 112, 118, 120, 121, 123),
    )
)
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


@dataclass(frozen=True)
class Batch:
    """The recipient, period and currency of a file.

    `first` and `last` are in one calendar year, which is the fiscal year. `is_final` marks the
    bookings of closed months, which DATEV must not change.
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
    """A positive amount from the credit account to the debit account."""

    amount: Decimal
    debit: str
    credit: str
    leg: Leg


def blocking_reason(batch: Batch) -> str:
    """Why the batch cannot be exported; empty if it can."""
    if batch.first.year != batch.last.year:
        return "Choose months of one year for DATEV."
    if minor_digits(batch.currency) > AMOUNT_DECIMALS:
        return f"DATEV supports two decimals; {batch.currency} has more."
    return ""


def lines(batch: Batch, legs: Iterable[Leg], names: Mapping[str, str]) -> Iterator[bytes]:
    """Render the file line by line.

    `legs` are in `batch.currency` and grouped by entry. `names` maps subjects, such as
    invoice:17, to document numbers. Raises ValueError if there is a `blocking_reason`.
    """
    reason = blocking_reason(batch)
    if reason:
        raise ValueError(reason)
    yield _encoded(header(batch))
    yield _encoded(COLUMNS)
    for _, group in groupby(legs, key=lambda leg: leg.entry_id):
        for booking in bookings(list(group)):
            yield _encoded(row(booking, batch, names))


def header(batch: Batch) -> list[str]:
    """The header line: 31 fields."""
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
    """Pair the legs of one entry into bookings between two accounts, largest first.

    DATEV has no bookings with several accounts on both sides.
    """
    debits = sorted((leg for leg in legs if leg.amount > 0), key=lambda leg: -leg.amount)
    credits = sorted((leg for leg in legs if leg.amount < 0), key=lambda leg: leg.amount)
    remaining = {leg.pk: abs(leg.amount) for leg in legs}
    found = []
    for debit in debits:
        for credit in credits:
            amount = min(remaining[debit.pk], remaining[credit.pk])
            if amount > 0:
                remaining[debit.pk] -= amount
                remaining[credit.pk] -= amount
                found.append(
                    Booking(amount, debit.account.datev_number, credit.account.datev_number, debit)
                )
    return found


def row(booking: Booking, batch: Batch, names: Mapping[str, str]) -> list[str]:
    """The line of a booking: 125 fields, most of them empty."""
    entry, engagement = booking.leg.entry, booking.leg.engagement
    subject = entry.key.partition(":")[2]
    reference = NOT_IN_A_REFERENCE.sub("-", names.get(subject, subject))
    about = f"{engagement.reference} {engagement.customer.name}: " if engagement else ""
    text = f"{about}{entry.get_kind_display()}"
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
        "Auftragsnummer": _text(engagement.reference[:30] if engagement else ""),
        "Festschreibung": str(int(batch.is_final)),
    }.items():
        fields[_PLACE[name]] = value
    return fields


def _amount(amount: Decimal, currency: str) -> str:
    """Format with a decimal comma and two decimals, ungrouped."""
    return f"{quantize(amount, currency):.{AMOUNT_DECIMALS}f}".replace(".", ",")


def _text(value: str) -> str:
    """Quote a text; line breaks, which would end the booking, become spaces."""
    value = CONTROL_CHARACTERS.sub(" ", value)
    return '"' + value.replace('"', '""') + '"'


def _encoded(fields: Iterable[str]) -> bytes:
    # Unsupported characters become question marks, as in DATEV's own exports.
    return (";".join(fields) + LINE_END).encode(ENCODING, errors="replace")
