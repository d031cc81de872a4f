"""Compose the document of an invoice or credit note from its frozen facts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from django.db.models import Exists, OuterRef, Value
from django.db.models.fields import CharField
from django.db.models.functions import Cast, Concat
from segno.helpers import make_epc_qr

from benchmarks.records.canonical import canonical, digest_of_bytes
from engagements.billing.e_invoice import FILENAME, XMP, e_invoice
from engagements.billing.invoice_facts import SCHEMA
from engagements.billing.models import Invoice
from engagements.common import money
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.documents import formatting
from engagements.documents.models import Document
from engagements.documents.registry import Subject
from engagements.documents.renderable import Enclosure, RenderableDocument

NOUN = "invoice"
_ARCHIVED = "pdf/a-3a"
HEADINGS = {"invoice": "Invoice", "prepayment": "Prepayment invoice", "final": "Final invoice"}
TAX_LABELS = {
    "reverse_charge": "Tax: reverse charge, owed by the recipient",
    "exempt": "Tax: exempt",
    "zero": "Tax: zero rate",
    "outside_scope": "Not subject to VAT",
}
# The limit of the EPC's QR code for SEPA credit transfers.
QR_LIMIT = Decimal("999999999.99")


def due() -> Iterator[Subject]:
    """Issued invoices without a document."""
    return _due(Invoice.Kind.INVOICE)


def due_credit_notes() -> Iterator[Subject]:
    """Issued credit notes without a document."""
    return _due(Invoice.Kind.CREDIT_NOTE)


def _due(kind: Invoice.Kind) -> Iterator[Subject]:
    subject = Concat(Value(f"{NOUN}:"), Cast(OuterRef("pk"), CharField()))
    documents = Document.objects.filter(kind=kind, subject=subject)
    issued = Invoice.objects.filter(
        ~Exists(documents), kind=kind, state=Invoice.State.ISSUED, frozen__schema=SCHEMA
    )
    return (Subject(NOUN, pk) for pk in issued.order_by("pk").values_list("pk", flat=True))


def compose(subject: Subject) -> RenderableDocument:
    """Compose an issued invoice or credit note."""
    invoice = Invoice.objects.select_related("engagement").get(pk=subject.pk)
    if invoice.frozen is None or invoice.issued_at is None:
        raise ApplicationError(
            "A draft has no document. Issue the invoice first.", code="invoice.not_issued"
        )
    facts = invoice.frozen
    if facts["schema"] != SCHEMA:
        raise ApplicationError(
            f"{invoice.reference} was billed outside Twofold; its document is not stored here.",
            code="invoice.billed_outside",
        )
    name = f"{invoice.get_kind_display()} {invoice.reference}"
    is_electronic = bool(facts["e_invoice"])
    return RenderableDocument(
        engagement=invoice.engagement,
        title=name,
        running_title=name,
        filename=f"{invoice.reference}.pdf",
        template="billing/document/invoice.html",
        dated=invoice.issued_at,
        seal=digest_of_bytes(canonical(facts)),
        sealed=f"Canonical JSON of {invoice.reference}",
        summary=f"{name} of {facts['seller']['name']} to {facts['buyer']['name']}.",
        context=_context(facts),
        enclosures=(_e_invoice(facts),) if is_electronic else (),
        variant=_ARCHIVED if is_electronic else RenderableDocument.variant,
        xmp=(XMP,) if is_electronic else (),
    )


def _e_invoice(facts: dict[str, Any]) -> Enclosure:
    return Enclosure(FILENAME, e_invoice(facts), "Electronic invoice (EN 16931)", "Alternative")


def _context(facts: dict[str, Any]) -> dict[str, Any]:
    currency, locale = facts["currency"], facts["locale"]
    rate = Decimal(facts["tax_rate_percent"])
    original = facts["corrects"]
    return {
        "facts": facts,
        "is_credit_note": facts["kind"] == Invoice.Kind.CREDIT_NOTE,
        "seller": formatting.party(facts["seller"]),
        "buyer": formatting.party(facts["buyer"]),
        "issued_on": _day(facts["issued_on"], locale),
        "due_on": _day(facts["due_on"], locale) if facts["due_on"] else "",
        "corrects": original
        and {
            "reference": original["reference"],
            "issued_on": _day(original["issued_on"], locale),
        },
        "lines": [_line(line, facts) for line in facts["lines"]],
        "net": _figure(facts["net"], facts),
        "tax": _figure(facts["tax"], facts),
        "gross": _figure(facts["gross"], facts),
        "to_pay": money.format_money(Decimal(facts["gross"]), currency, locale),
        "tax_rate": formatting.percent(rate),
        "is_taxed": facts["tax_treatment"] == "rate",
        "heading": HEADINGS[facts.get("type", "invoice")],
        "tax_label": TAX_LABELS.get(facts["tax_treatment"], ""),
        "delivered": [
            {"title": line["title"], "net": _figure(line["net"], facts)}
            for line in facts.get("delivered", [])
        ],
        "deducted": [_deducted(row, facts) for row in facts.get("deducted", [])],
        "qr_code": _qr_code(facts),
        "iban": _grouped(facts["account"]["iban"]),
        "currency": currency,
    }


def _deducted(row: dict[str, str], facts: dict[str, Any]) -> dict[str, str]:
    figures = {name: _figure(f"-{row[name]}", facts) for name in ("net", "tax", "gross")}
    return figures | {
        "reference": row["reference"],
        "issued_on": _day(row["issued_on"], facts["locale"]),
    }


def _qr_code(facts: dict[str, Any]) -> str:
    """The EPC's QR code, by which a banking app fills in the transfer, as a data: URL of an SVG;
    euros only."""
    gross, account = Decimal(facts["gross"]), facts["account"]
    if facts["kind"] == "credit_note" or facts["currency"] != "EUR" or gross > QR_LIMIT:
        return ""
    code = make_epc_qr(
        name=account["holder"][:70],
        iban=account["iban"],
        bic=account["bic"] or None,
        amount=gross,
        text=facts["reference"],
    )
    return str(code.svg_data_uri(scale=3, border=2))


def _line(line: dict[str, Any], facts: dict[str, Any]) -> dict[str, str]:
    supplied_on = line["supplied_on"]
    return {
        "position": str(line["position"]),
        "title": line["title"],
        "contract": _other_version(line, facts),
        "supplied_on": _day(supplied_on, facts["locale"]) if supplied_on else "",
        "net": _figure(line["net"], facts),
    }


def _other_version(line: dict[str, Any], facts: dict[str, Any]) -> str:
    """The line's contract version, if it is not that of the invoice: an amendment came between."""
    version = line["contract_version"]
    if version is None or version == facts["contract"]["version"]:
        return ""
    return f"Contract version {version}"


def _figure(amount: str, facts: dict[str, Any]) -> str:
    return formatting.figure(Decimal(amount), facts["currency"])


def _day(text: str, locale: str) -> str:
    return in_words(date.fromisoformat(text), locale=locale)


def _grouped(iban: str) -> str:
    """Format an IBAN in groups of four."""
    return " ".join(iban[start : start + 4] for start in range(0, len(iban), 4))
