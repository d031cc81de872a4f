"""CAMT.053, the bank's statement after ISO 20022, in the versions 001.02 to 001.14.

The versions differ in where a party's name and an entry's state stand; what they share is read
by name, whatever the namespace. Entities and document types are refused before anything is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal, InvalidOperation

from lxml import etree

from engagements.billing.bank_files.entries import Entry, Statement, Unreadable, kept_exactly, keyed

NAMESPACE = re.compile(r"urn:iso:std:iso:20022:tech:xsd:camt\.053\.001\.\d\d")
CURRENCY = re.compile(r"[A-Z]{3}")
BOOKED = "BOOK"


def looks_like(content: bytes) -> bool:
    """Whether a file could be CAMT.053: XML that names it near its beginning."""
    return b"camt.053" in content[:4000] and content.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] == b"<"


def read(content: bytes) -> Statement:
    """The booked entries of every statement in the file. Unreadable when it is something else."""
    document = _parsed(content)
    entries: list[Entry] = []
    passed_over = 0
    for statement in _all(document, "BkToCstmrStmt/Stmt"):
        account = _text(statement, "Acct/Id/IBAN") or _text(statement, "Acct/Id/Othr/Id")
        found: list[Entry] = []
        for entry in _all(statement, "Ntry"):
            if _came_in(entry):
                found += _parts(entry)
            else:
                passed_over += 1
        entries += keyed(found, account=account)
    return Statement(entries=tuple(entries), passed_over=passed_over)


def _parsed(content: bytes) -> etree._Element:
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_pis=True
    )
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise Unreadable(f"This is no well-formed XML: {error.msg}") from error
    if root.getroottree().docinfo.internalDTD is not None:
        raise Unreadable("A bank file declares no document type.")
    if not NAMESPACE.fullmatch(etree.QName(root).namespace or ""):
        raise Unreadable("This XML is no CAMT.053 statement.")
    return root


def _came_in(entry: etree._Element) -> bool:
    """Booked, to our credit, more than nothing, and not the reversal of anything."""
    state = _text(entry, "Sts/Cd") or _text(entry, "Sts")
    is_reversal = _text(entry, "RvslInd") in ("true", "1")
    if state != BOOKED or _text(entry, "CdtDbtInd") != "CRDT" or is_reversal:
        return False
    # Banks book interest and fees of 0.00, too.
    return _amount(_one(entry, "Amt"))[0] > 0


def _parts(entry: etree._Element) -> Iterator[Entry]:
    """The transactions of an entry that collects several, where they add up to it; else itself."""
    amount, currency = _amount(_one(entry, "Amt"))
    details = list(_all(entry, "NtryDtls/TxDtls"))
    parts = [_transaction_amount(each) for each in details]
    known = [part for part, code in filter(None, parts) if code == currency]
    adds_up = len(known) == len(details) and sum(known, Decimal(0)) == amount
    if len(details) > 1 and adds_up and min(known) > 0:
        for each, part in zip(details, known, strict=True):
            yield _entry(entry, each, part, currency)
    else:
        yield _entry(entry, details[0] if details else None, amount, currency)


def _entry(
    entry: etree._Element, details: etree._Element | None, amount: Decimal, currency: str
) -> Entry:
    booked = _text(entry, "BookgDt/Dt") or _text(entry, "BookgDt/DtTm")[:10]
    references = [_text(entry, "AcctSvcrRef"), _text(entry, "NtryRef")]
    payer = account = ""
    texts: list[str] = []
    if details is not None:
        references = [
            _text(details, "Refs/AcctSvcrRef"),
            _text(details, "Refs/TxId"),
            *references,
        ]
        payer = _text(details, "RltdPties/Dbtr/Pty/Nm") or _text(details, "RltdPties/Dbtr/Nm")
        account = _text(details, "RltdPties/DbtrAcct/Id/IBAN")
        texts = [
            *(each.text or "" for each in _all(details, "RmtInf/Ustrd")),
            *(each.text or "" for each in _all(details, "RmtInf/Strd/CdtrRefInf/Ref")),
            _text(details, "Refs/EndToEndId"),
        ]
    texts.append(_text(entry, "AddtlNtryInf"))
    try:
        booked_on = date.fromisoformat(booked)
    except ValueError as error:
        raise Unreadable(f"An entry has no day of booking that can be read: {booked!r}.") from error
    return Entry(
        booked_on=booked_on,
        amount=kept_exactly(amount, currency),
        currency=currency,
        payer=payer,
        payer_account=account,
        text=" ".join(filter(None, (text.strip() for text in texts))),
        reference=next(filter(None, references), ""),
    )


def _transaction_amount(details: etree._Element) -> tuple[Decimal, str] | None:
    for path in ("Amt", "AmtDtls/TxAmt/Amt"):
        found = next(_all(details, path), None)
        if found is not None:
            return _amount(found)
    return None


def _amount(element: etree._Element) -> tuple[Decimal, str]:
    try:
        amount = Decimal((element.text or "").strip())
    except InvalidOperation as error:
        raise Unreadable(f"An amount cannot be read: {element.text!r}.") from error
    if not amount.is_finite():
        raise Unreadable(f"An amount cannot be read: {element.text!r}.")
    currency = element.get("Ccy") or ""
    if not CURRENCY.fullmatch(currency):
        raise Unreadable(f"An amount names no currency: {element.text}.")
    return amount, currency


def _all(element: etree._Element, path: str) -> Iterator[etree._Element]:
    """The elements at `path`, by their names in any namespace."""
    name, _, rest = path.partition("/")
    for child in element.iterchildren(f"{{*}}{name}"):
        if rest:
            yield from _all(child, rest)
        else:
            yield child


def _one(element: etree._Element, path: str) -> etree._Element:
    found = next(_all(element, path), None)
    if found is None:
        raise Unreadable(f"An entry has no {path}.")
    return found


def _text(element: etree._Element, path: str) -> str:
    found = next(_all(element, path), None)
    return (found.text or "").strip() if found is not None else ""
