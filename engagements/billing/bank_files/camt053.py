"""Parse CAMT.053, the ISO 20022 bank statement, versions 001.02 to 001.14.

Elements are found by local name: the versions differ in namespace and in the place of a party's
name and an entry's status. Document types and entities are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal, InvalidOperation

from lxml import etree

from engagements.billing.bank_files.statement import (
    Statement,
    StatementLine,
    UnreadableFile,
    exact_amount,
    with_keys,
)

NAMESPACE = re.compile(r"urn:iso:std:iso:20022:tech:xsd:camt\.053\.001\.\d\d")
CURRENCY = re.compile(r"[A-Z]{3}")
BOOKED = "BOOK"


def looks_like(content: bytes) -> bool:
    """Whether a file looks like CAMT.053: XML that names it near its start."""
    return b"camt.053" in content[:4000] and content.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] == b"<"


def read(content: bytes) -> Statement:
    """Parse the booked credit entries of every statement in the file."""
    document = _parsed(content)
    lines: list[StatementLine] = []
    skipped = 0
    for statement in _all(document, "BkToCstmrStmt/Stmt"):
        account = _text(statement, "Acct/Id/IBAN") or _text(statement, "Acct/Id/Othr/Id")
        found: list[StatementLine] = []
        for entry in _all(statement, "Ntry"):
            if _is_incoming(entry):
                found += _parts(entry)
            else:
                skipped += 1
        lines += with_keys(found, account=account)
    return Statement(lines=tuple(lines), skipped=skipped)


def _parsed(content: bytes) -> etree._Element:
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_pis=True
    )
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise UnreadableFile(f"The XML is not well-formed: {error.msg}") from error
    if root.getroottree().docinfo.internalDTD is not None:
        raise UnreadableFile("The XML declares a document type, which is not allowed.")
    if not NAMESPACE.fullmatch(etree.QName(root).namespace or ""):
        raise UnreadableFile("This XML is not a CAMT.053 statement.")
    return root


def _is_incoming(entry: etree._Element) -> bool:
    """Whether an entry is booked, a credit, positive and no reversal."""
    state = _text(entry, "Sts/Cd") or _text(entry, "Sts")
    is_reversal = _text(entry, "RvslInd") in ("true", "1")
    if state != BOOKED or _text(entry, "CdtDbtInd") != "CRDT" or is_reversal:
        return False
    # Some banks book interest and fees of 0.00.
    return _amount(_one(entry, "Amt"))[0] > 0


def _parts(entry: etree._Element) -> Iterator[StatementLine]:
    """The transactions of a batch entry if they add up to it, or else the entry itself."""
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
) -> StatementLine:
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
        raise UnreadableFile(f"An entry has an invalid booking date: {booked!r}.") from error
    return StatementLine(
        booked_on=booked_on,
        amount=exact_amount(amount, currency),
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
        raise UnreadableFile(f"Invalid amount: {element.text!r}.") from error
    if not amount.is_finite():
        raise UnreadableFile(f"Invalid amount: {element.text!r}.")
    currency = element.get("Ccy") or ""
    if not CURRENCY.fullmatch(currency):
        raise UnreadableFile(f"An amount has no currency: {element.text}.")
    return amount, currency


def _all(element: etree._Element, path: str) -> Iterator[etree._Element]:
    """The elements at `path` in any namespace."""
    name, _, rest = path.partition("/")
    for child in element.iterchildren(f"{{*}}{name}"):
        if rest:
            yield from _all(child, rest)
        else:
            yield child


def _one(element: etree._Element, path: str) -> etree._Element:
    found = next(_all(element, path), None)
    if found is None:
        raise UnreadableFile(f"An entry has no {path}.")
    return found


def _text(element: etree._Element, path: str) -> str:
    found = next(_all(element, path), None)
    return (found.text or "").strip() if found is not None else ""
