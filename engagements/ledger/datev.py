"""Export the ledger to DATEV: EXTF 700, category 21 (Buchungsstapel), format version 13.

A header line, a line of column names, then one line per booking between two accounts. Fields
are separated by semicolons, text is quoted, amounts have a decimal comma, lines end in CRLF, the
encoding is Windows-1252. Source: developer.datev.de, "Buchungsstapel" and "Header", whose
expressions the tests repeat for every field that is filled. The tax key (field 9) has four digits
there; imports take "3" and "2" as well, so that it stays as accountants write it.

Amounts in another currency than the base currency have the rate and the amount in euros beside them
(fields 4 to 6); the rate is that of the whole file, such as the tax office's of the month.

Receivables are posted to a debtor account for each customer. Revenue with German tax is posted
gross with its tax key, so that DATEV computes the tax; the key belongs to the account in the field
Gegenkonto. Invoices, their payments, credit notes and refunds carry the invoice's number in
Belegfeld 1, by which DATEV clears open items.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from itertools import groupby

from engagements.common.money import allocate, minor_digits, quantize
from engagements.ledger import chart
from engagements.ledger.models import Account, Leg
from engagements.people.models import Customer

ENCODING = "cp1252"
LINE_END = "\r\n"
# The shortest account numbers of the general ledger in DATEV.
ACCOUNT_DIGITS = 4
# Characters not allowed in fields 11 and 12, the document numbers.
NOT_IN_A_REFERENCE = re.compile(r"[^A-Za-z0-9$%\-/]")
AMOUNT_DECIMALS = 2
BASE_CURRENCY = "EUR"
# Field 4 has up to four digits before the comma, the first of them not zero.
MIN_RATE, MAX_RATE, RATE_DECIMALS = Decimal(1), Decimal(9999), 6
# Debtors have one digit more than general ledger accounts: 10000 to 69999 beside four digits.
FIRST_DEBTOR, LAST_DEBTOR = 10_000, 69_999
SKR03, SKR04 = "03", "04"
# Tax keys of German output tax by rate; at other rates net and tax are posted apart.
TAX_KEYS = {Decimal(19): "3", Decimal(7): "2"}
SECOND_REFERENCE_LENGTH, VAT_ID_LENGTH = 12, 15
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
    bookings of closed months, which DATEV must not change. `chart` is SKR03 or SKR04. Account
    numbers have `digits`, shorter ones zeros at their end. `rate` is the price of one euro in
    `currency`, where that is another.
    """

    adviser_number: int
    client_number: int
    first: date
    last: date
    currency: str
    made_at: datetime
    is_final: bool = False
    chart: str = SKR04
    digits: int = ACCOUNT_DIGITS
    rate: Decimal | None = None


@dataclass(frozen=True)
class Voucher:
    """The document behind an entry.

    `number` is that of the invoice which the entry opens or clears; `second` that of the document
    itself, if it is another. `tax_rate` is in percent; `eu_vat_id` is set for reverse charges.
    `parts` are the invoices that a refund clears, by number, where it clears several.
    """

    number: str
    second: str = ""
    due_on: date | None = None
    tax_rate: Decimal = Decimal(0)
    eu_vat_id: str = ""
    parts: Mapping[str, Decimal] = field(default_factory=dict)


@dataclass(frozen=True)
class Side:
    """One side of an entry: a DATEV account, debit positive, with the tax key of a gross amount."""

    account: str
    amount: Decimal
    tax_key: str = ""


@dataclass(frozen=True)
class Booking:
    """A positive amount from the credit account to the debit account.

    `tax_key` is that of one of them: the credit account, unless `is_debit_taxed`.
    """

    amount: Decimal
    debit: str
    credit: str
    tax_key: str = ""
    is_debit_taxed: bool = False


def blocking_reason(batch: Batch) -> str:
    """Why the batch cannot be exported; empty if it can."""
    if batch.first.year != batch.last.year:
        return "Choose months of one year for DATEV."
    if minor_digits(batch.currency) > AMOUNT_DECIMALS:
        return f"DATEV supports two decimals; {batch.currency} has more."
    if batch.currency != BASE_CURRENCY and batch.rate is None:
        return f"DATEV needs a rate: enter the price of one euro in {batch.currency}."
    return ""


def lines(batch: Batch, legs: Iterable[Leg], vouchers: Mapping[str, Voucher]) -> Iterator[bytes]:
    """Render the file line by line.

    `legs` are in `batch.currency` and grouped by entry. `vouchers` are by subject, such as
    invoice:17. Raises ValueError if there is a `blocking_reason`.
    """
    reason = blocking_reason(batch)
    if reason:
        raise ValueError(reason)
    yield _encoded(header(batch))
    yield _encoded(COLUMNS)
    for _, group in groupby(legs, key=lambda leg: leg.entry_id):
        entry_legs = list(group)
        voucher = _voucher(entry_legs[0], vouchers)
        parts = dict(voucher.parts)
        for booking in bookings(sides(entry_legs, batch, voucher)):
            has_debtor = max(len(booking.debit), len(booking.credit)) > batch.digits
            for part, number in _by_invoice(booking, parts if has_debtor else {}):
                document = replace(voucher, number=number or voucher.number)
                yield _encoded(row(part, entry_legs[0], batch, document))


def _by_invoice(booking: Booking, parts: dict[str, Decimal]) -> Iterator[tuple[Booking, str]]:
    """Divide a booking among the invoices that it clears, and take it from `parts`."""
    left = booking.amount
    for number, amount in parts.items():
        part = min(amount, left)
        if part > 0:
            left -= part
            parts[number] -= part
            yield replace(booking, amount=part), number
    if left > 0:
        yield replace(booking, amount=left), ""


def _voucher(leg: Leg, vouchers: Mapping[str, Voucher]) -> Voucher:
    subject = leg.entry.key.partition(":")[2]
    return vouchers.get(subject) or Voucher(number=subject)


def debtor_number(customer: Customer, *, digits: int = ACCOUNT_DIGITS) -> str:
    """The debtor account of a customer, of one digit more than other accounts."""
    scale = 10 ** (digits - ACCOUNT_DIGITS)
    number = FIRST_DEBTOR * scale + (customer.pk or 0)
    if number > LAST_DEBTOR * scale:
        raise ValueError(f"DATEV has no debtor account {number}.")
    return str(number)


def account_number(account: Account, *, skr: str, digits: int = ACCOUNT_DIGITS) -> str:
    """An account's number in a chart; finance's own number takes precedence."""
    is_edited = account.datev_number != _DEFAULTS.get(account.code)
    is_kept = skr == SKR04 or is_edited
    number = account.datev_number if is_kept else chart.SKR03[account.code]
    return number.ljust(digits, "0")


def digits_of(accounts: Iterable[Account]) -> int:
    """The digits of account numbers: those of the longest number that finance has entered."""
    return max((len(account.datev_number) for account in accounts), default=ACCOUNT_DIGITS)


_DEFAULTS = {line.code: line.datev_number for line in chart.CHART}


def sides(legs: Sequence[Leg], batch: Batch, voucher: Voucher) -> list[Side]:
    """The sides of one entry by DATEV account, its tax merged into gross amounts with their key."""
    tax = sum((leg.amount for leg in legs if leg.account.code == chart.OUTPUT_TAX), Decimal(0))
    key = TAX_KEYS.get(voucher.tax_rate, "") if tax else ""
    taxed = [leg for leg in legs if _is_taxed(leg) and leg.amount * tax > 0]
    if not key or not taxed:
        return [Side(_number(leg, batch), leg.amount) for leg in legs]
    weights = [abs(leg.amount) for leg in taxed]
    sign = 1 if tax > 0 else -1
    parts = allocate(abs(tax), weights, batch.currency)
    shares = {leg.pk: sign * part for leg, part in zip(taxed, parts, strict=True)}
    return [
        Side(
            _number(leg, batch),
            leg.amount + shares.get(leg.pk, Decimal(0)),
            key if leg.pk in shares else "",
        )
        for leg in legs
        if leg.account.code != chart.OUTPUT_TAX
    ]


def _is_taxed(leg: Leg) -> bool:
    return leg.account.code not in (chart.RECEIVABLES, chart.OUTPUT_TAX)


def _number(leg: Leg, batch: Batch) -> str:
    if leg.account.code == chart.RECEIVABLES and leg.engagement is not None:
        return debtor_number(leg.engagement.customer, digits=batch.digits)
    return account_number(leg.account, skr=batch.chart, digits=batch.digits)


def header(batch: Batch) -> list[str]:
    """The header line: 31 fields."""
    return [
        *(_text("EXTF"), "700", "21", _text("Buchungsstapel"), "13"),
        *(f"{batch.made_at:%Y%m%d%H%M%S}{batch.made_at.microsecond // 1000:03d}", ""),
        *(_text("RE"), _text("Twofold"), _text("")),
        *(str(batch.adviser_number), str(batch.client_number)),
        *(f"{batch.first.year}0101", str(batch.digits)),
        *(f"{batch.first:%Y%m%d}", f"{batch.last:%Y%m%d}"),
        _text(f"Twofold {batch.first:%Y-%m-%d} {batch.last:%m-%d}"[:DESCRIPTION_LENGTH]),
        *(_text(""), "1", "0", str(int(batch.is_final)), _text(BASE_CURRENCY)),
        *("", _text(""), "", "", _text(batch.chart), "", "", _text(""), _text("")),
    ]


def bookings(sides: Sequence[Side]) -> list[Booking]:
    """Pair the sides of one entry into bookings between two accounts, largest first.

    DATEV has no bookings with several accounts on both sides.
    """
    debits = sorted((side for side in sides if side.amount > 0), key=lambda side: -side.amount)
    credits = sorted((side for side in sides if side.amount < 0), key=lambda side: side.amount)
    remaining = {id(side): abs(side.amount) for side in sides}
    found = []
    for debit in debits:
        for credit in credits:
            amount = min(remaining[id(debit)], remaining[id(credit)])
            if amount > 0:
                remaining[id(debit)] -= amount
                remaining[id(credit)] -= amount
                key, is_debit_taxed = debit.tax_key or credit.tax_key, bool(debit.tax_key)
                found.append(Booking(amount, debit.account, credit.account, key, is_debit_taxed))
    return found


def row(booking: Booking, leg: Leg, batch: Batch, voucher: Voucher) -> list[str]:
    """The line of a booking of a leg's entry: 125 fields, most of them empty."""
    entry, engagement = leg.entry, leg.engagement
    about = f"{engagement.reference} {engagement.customer.name}: " if engagement else ""
    text = f"{about}{entry.get_kind_display()}"
    accounts = (booking.debit, booking.credit)
    account, contra = reversed(accounts) if booking.is_debit_taxed else accounts
    fields = [_text("") if place in TEXT else "" for place in range(1, len(COLUMNS) + 1)]
    for name, value in {
        "Umsatz (ohne Soll/Haben-Kz)": _amount(booking.amount, batch.currency),
        "Soll/Haben-Kennzeichen": _text("H" if booking.is_debit_taxed else "S"),
        "WKZ Umsatz": _text(batch.currency),
        **_converted(booking.amount, batch),
        "Konto": account,
        "Gegenkonto (ohne BU-Schlüssel)": contra,
        "BU-Schlüssel": _text(booking.tax_key),
        "Belegdatum": f"{leg.dated_on:%d%m}",
        "Belegfeld 1": _text(_reference(voucher.number)[:REFERENCE_LENGTH]),
        "Belegfeld 2": _text(_reference(voucher.second)[:SECOND_REFERENCE_LENGTH]),
        "Buchungstext": _text(text[:TEXT_LENGTH]),
        "EU-Land u. UStID (Bestimmung)": _text(voucher.eu_vat_id[:VAT_ID_LENGTH]),
        "Auftragsnummer": _text(engagement.reference[:30] if engagement else ""),
        "Festschreibung": str(int(batch.is_final)),
        "Fälligkeit": f"{voucher.due_on:%d%m%Y}" if voucher.due_on else "",
    }.items():
        fields[_PLACE[name]] = value
    return fields


def _converted(amount: Decimal, batch: Batch) -> dict[str, str]:
    """The rate and the amount in euros of a booking in another currency."""
    if batch.rate is None or batch.currency == BASE_CURRENCY:
        return {}
    return {
        "Kurs": f"{batch.rate:.{RATE_DECIMALS}f}".replace(".", ","),
        "Basis-Umsatz": _amount(amount / batch.rate, BASE_CURRENCY),
        "WKZ Basis-Umsatz": _text(BASE_CURRENCY),
    }


def _reference(text: str) -> str:
    return NOT_IN_A_REFERENCE.sub("-", text)


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
