"""Bank statements of the demonstration (CAMT.053), each continuing the balance of the last."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from xml.sax.saxutils import escape

from django.conf import settings
from django.utils import timezone

from engagements.billing import bank_imports
from engagements.billing.bank_models import BankImport, BankStatement
from engagements.people.models import User

OPENING_BALANCE = Decimal(120_000)
NAMESPACE = "urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"


@dataclass(frozen=True)
class Entry:
    """A booked amount, negative when we paid it, with the other party and the text."""

    amount: Decimal
    party: str
    text: str


def import_statement(*entries: Entry, currency: str, by: User) -> BankImport:
    """Import a statement of today with these entries, in `currency`."""
    day = timezone.localdate()
    name = f"{day.isoformat()}-{currency}-{BankImport.objects.count() + 1}.xml"
    content = _statement(entries, currency, name)
    return bank_imports.import_file(filename=name, content=content, by=by)


def _statement(entries: tuple[Entry, ...], currency: str, name: str) -> bytes:
    account = settings.BANK_ACCOUNT["iban"]
    last = BankStatement.objects.filter(account=account, currency=currency).last()
    opening = (last.chain_end if last else None) or OPENING_BALANCE
    closing = opening + sum(entry.amount for entry in entries)
    balances = "".join(
        f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp>{_money(value, currency)}</Bal>"
        for code, value in (("OPBD", opening), ("CLBD", closing))
    )
    body = "".join(
        _entry(entry, currency, f"{name.removesuffix('.xml')}/{number}")
        for number, entry in enumerate(entries, 1)
    )
    return (
        f'<Document xmlns="{NAMESPACE}"><BkToCstmrStmt><Stmt><Acct><Id><IBAN>{account}</IBAN></Id>'
        f"</Acct>{balances}{body}</Stmt></BkToCstmrStmt></Document>"
    ).encode()


def _entry(entry: Entry, currency: str, reference: str) -> str:
    role = "Dbtr" if entry.amount > 0 else "Cdtr"
    return (
        f"<Ntry>{_money(entry.amount, currency)}<Sts>BOOK</Sts>"
        f"<BookgDt><Dt>{timezone.localdate().isoformat()}</Dt></BookgDt>"
        f"<AcctSvcrRef>{reference}</AcctSvcrRef><NtryDtls><TxDtls>"
        f"<RltdPties><{role}><Nm>{escape(entry.party)}</Nm></{role}></RltdPties>"
        f"<RmtInf><Ustrd>{escape(entry.text)}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>"
    )


def _money(amount: Decimal, currency: str) -> str:
    side = "CRDT" if amount > 0 else "DBIT"
    return f'<Amt Ccy="{currency}">{abs(amount):.2f}</Amt><CdtDbtInd>{side}</CdtDbtInd>'
