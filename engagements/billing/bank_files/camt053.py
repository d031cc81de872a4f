"""Parse CAMT.053, the ISO 20022 bank statement, versions 001.02 to 001.14.

Elements are found by local name: the versions differ in namespace and in the place of a party's
name and an entry's status. Document types and entities are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from lxml import etree

from engagements.billing.bank_files.statement import (
    NO_REFERENCE,
    AccountStatement,
    BankFile,
    StatementLine,
    UnreadableFile,
    exact_amount,
    plausible_day,
    with_keys,
)

NAMESPACE = re.compile(r"urn:iso:std:iso:20022:tech:xsd:camt\.053\.001\.\d\d")
CURRENCY = re.compile(r"[A-Z]{3}")
# As in the schema: no exponents, no digits but these.
AMOUNT = re.compile(r"[0-9]{1,18}(\.[0-9]{1,17})?")
# CdtDbtInd, with the sign of its amount.
SIGNS = {"CRDT": 1, "DBIT": -1}
BOOKED = "BOOK"
# Codes of the opening balance (also: closing balance of the day before) and the closing one.
OPENING, CLOSING = ("OPBD", "PRCD"), ("CLBD",)
# Characters of an end-to-end id and of a message id in ISO 20022.
ID_CHARACTERS = 35


def looks_like(content: bytes) -> bool:
    """Whether a file is XML, of which CAMT.053 alone can be read."""
    return content.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] == b"<"


def read(content: bytes) -> BankFile:
    """Parse the booked entries of every statement in the file.

    Raises UnreadableFile for a statement whose entries do not lead from its opening balance to
    its closing balance.
    """
    statements: list[AccountStatement] = []
    skipped = 0
    for statement in _all(_parsed(content), "BkToCstmrStmt/Stmt"):
        account = _text(statement, "Acct/Id/IBAN") or _text(statement, "Acct/Id/Othr/Id")
        found: list[StatementLine] = []
        for entry in _all(statement, "Ntry"):
            if _is_booked(entry):
                found += _parts(entry)
            else:
                skipped += 1
        statements.append(_statement(statement, account.replace(" ", ""), found))
    return BankFile(statements=tuple(statements), skipped=skipped)


def _statement(
    element: etree._Element, account: str, lines: list[StatementLine]
) -> AccountStatement:
    opening, currency = _balance(element, OPENING)
    closing, other = _balance(element, CLOSING)
    if {currency, *(line.currency for line in lines)} != {other}:
        raise UnreadableFile("The statement has several currencies.")
    total = sum((line.amount for line in lines), opening)
    if total != closing:
        raise UnreadableFile(
            f"The entries lead from the opening balance {opening} to {total}, but the closing "
            f"balance is {closing} {currency}. Export the complete statement."
        )
    return AccountStatement(
        account=account,
        currency=currency,
        lines=with_keys(lines, account=account),
        opening=opening,
        closing=closing,
    )


def _balance(statement: etree._Element, codes: tuple[str, ...]) -> tuple[Decimal, str]:
    for code in codes:
        for balance in _all(statement, "Bal"):
            if _text(balance, "Tp/CdOrPrtry/Cd") == code:
                amount, currency = _amount(_one(balance, "Amt"))
                return exact_amount(_signed(balance, amount), currency), currency
    raise UnreadableFile(f"A statement has no balance {codes[0]}. Export it as CAMT.053.")


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


def _is_booked(entry: etree._Element) -> bool:
    """Whether an entry is booked and not zero: some banks book interest and fees of 0.00."""
    state = _text(entry, "Sts/Cd") or _text(entry, "Sts")
    return state == BOOKED and _amount(_one(entry, "Amt"))[0] != 0


def _signed(element: etree._Element, amount: Decimal) -> Decimal:
    """An amount, negative for a debit."""
    return _sign(element) * amount


def _sign(element: etree._Element) -> int:
    side = _text(element, "CdtDbtInd")
    if side not in SIGNS:
        raise UnreadableFile(f"{side or 'An empty CdtDbtInd'} is neither CRDT nor DBIT.")
    return SIGNS[side]


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
    references = [_text(entry, "AcctSvcrRef"), _text(entry, "NtryRef")]
    payer = account = end_to_end_id = return_reason = ""
    batch_id = _text(entry, "NtryDtls/Btch/MsgId") or _text(entry, "NtryDtls/Btch/PmtInfId")
    texts: list[str] = []
    is_credit = _sign(entry) > 0
    if details is not None:
        references = [
            _text(details, "Refs/AcctSvcrRef"),
            _text(details, "Refs/TxId"),
            *references,
        ]
        payer, account = _other_party(details, "Dbtr" if is_credit else "Cdtr")
        end_to_end_id = _text(details, "Refs/EndToEndId")
        batch_id = _text(details, "Refs/MsgId") or batch_id
        return_reason = " ".join(
            filter(None, (_text(details, "RtrInf/Rsn/Cd"), _text(details, "RtrInf/AddtlInf")))
        )
        texts = [
            *(each.text or "" for each in _all(details, "RmtInf/Ustrd")),
            *(each.text or "" for each in _all(details, "RmtInf/Strd/CdtrRefInf/Ref")),
            end_to_end_id,
        ]
    texts.append(_text(entry, "AddtlNtryInf"))
    booked_on = _day(entry, "BookgDt")
    return StatementLine(
        booked_on=booked_on,
        valued_on=_day(entry, "ValDt") if _text(entry, "ValDt/Dt") else booked_on,
        amount=exact_amount(_signed(entry, amount), currency),
        currency=currency,
        payer=payer,
        payer_account=account,
        text=" ".join(filter(None, (text.strip() for text in texts))),
        reference=next(filter(None, references), ""),
        end_to_end_id="" if end_to_end_id in NO_REFERENCE else end_to_end_id[:ID_CHARACTERS],
        batch_id="" if batch_id in NO_REFERENCE else batch_id[:ID_CHARACTERS],
        is_reversal=_text(entry, "RvslInd") in ("true", "1"),
        return_reason=return_reason,
    )


def _other_party(details: etree._Element, role: str) -> tuple[str, str]:
    """The name and IBAN of the other side."""
    parties = f"RltdPties/{role}"
    name = _text(details, f"{parties}/Pty/Nm") or _text(details, f"{parties}/Nm")
    return name, _text(details, f"{parties}Acct/Id/IBAN")


def _day(entry: etree._Element, path: str) -> date:
    text = _text(entry, f"{path}/Dt") or _text(entry, f"{path}/DtTm")[:10]
    try:
        return plausible_day(date.fromisoformat(text))
    except ValueError as error:
        raise UnreadableFile(f"An entry has an invalid date {path}: {text!r}.") from error


def _transaction_amount(details: etree._Element) -> tuple[Decimal, str] | None:
    for path in ("Amt", "AmtDtls/TxAmt/Amt"):
        found = next(_all(details, path), None)
        if found is not None:
            return _amount(found)
    return None


def _amount(element: etree._Element) -> tuple[Decimal, str]:
    text = (element.text or "").strip()
    if not AMOUNT.fullmatch(text):
        raise UnreadableFile(
            f"Invalid amount: {text[:40]!r}. CAMT.053 has digits and a point, and no sign."
        )
    amount = Decimal(text)
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
