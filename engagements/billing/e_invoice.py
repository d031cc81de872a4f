"""Electronic invoices: EN 16931 in Cross Industry Invoice, as Factur-X and as XRechnung.

Built with drafthorse. XRechnung is the German profile of EN 16931: it requires a buyer reference
(Leitweg-ID), a contact with a phone number, and electronic addresses of both parties.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Any

from drafthorse.models.accounting import ApplicableTradeTax
from drafthorse.models.document import Document
from drafthorse.models.note import IncludedNote
from drafthorse.models.party import TaxRegistration, TradeParty
from drafthorse.models.payment import PaymentMeans, PaymentTerms
from drafthorse.models.tradelines import LineItem
from drafthorse.xmp_schema import XMP_SCHEMA

from engagements.common.errors import ApplicationError

FILENAME = "factur-x.xml"
PROFILE = "urn:cen.eu:en16931:2017"
SCHEMA = "FACTUR-X_EN16931"
XRECHNUNG = "urn:cen.eu:en16931:2017#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0"
PEPPOL_PROCESS = "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0"
# Codes of UNTDID 1001 and 4461, UN/ECE recommendation 20 and VATEX.
INVOICE, CREDIT_NOTE, PREPAYMENT, PARTIAL = "380", "381", "386", "326"
CREDIT_TRANSFER, SEPA_CREDIT_TRANSFER = "30", "58"
PIECE = "C62"
TAX_CATEGORIES = {"reverse_charge": "AE", "exempt": "E", "zero": "Z", "outside_scope": "O"}
EXEMPTION_CODES = {"reverse_charge": "VATEX-EU-AE", "outside_scope": "VATEX-EU-O"}
POSTCODE_AND_CITY = re.compile(r"(?:[A-Z]{1,3}-)?(?P<postcode>\d[\d ]{2,5}\d)\s+(?P<city>\D.*)")


def _extension() -> bytes:
    """The XMP metadata that names the embedded invoice file and its standard."""
    text = XMP_SCHEMA.format(
        **dict.fromkeys(("title", "author", "subject", "producer", "creator_tool"), ""),
        timestamp="",
        urn="urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#",
        documenttype="INVOICE",
        xml_filename=FILENAME,
        version="1.0",
        xmp_level="EN 16931",
    )
    start = text.index('<rdf:Description xmlns:pdfaExtension="')
    rdf = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    return (rdf + text[start : text.index("</rdf:RDF>")] + "</rdf:RDF>").encode()


XMP = _extension()


def e_invoice(facts: dict[str, Any]) -> bytes:
    """Render frozen `facts` (twofold.invoice/1) as XML, validated against the profile's schema."""
    return _render(facts, profile=PROFILE)


def xrechnung(facts: dict[str, Any]) -> bytes:
    """Render frozen `facts` as XRechnung. Raises ApplicationError naming what it lacks."""
    if missing := missing_for_xrechnung(facts):
        raise ApplicationError(
            f"An XRechnung needs {', '.join(missing)}.", code="invoice.xrechnung_incomplete"
        )
    return _render(facts, profile=XRECHNUNG)


def missing_for_xrechnung(facts: dict[str, Any]) -> list[str]:
    """The facts missing for an XRechnung, such as "a buyer reference"."""
    contact = facts.get("contact") or {}
    wanted = {
        "an e-invoice": facts.get("e_invoice"),
        "a buyer reference (Leitweg-ID)": facts.get("buyer_reference"),
        "our phone number": contact.get("phone"),
        "our email address": contact.get("email"),
        "the customer's email address": facts.get("buyer", {}).get("email"),
    }
    return [name for name, value in wanted.items() if not value]


def _render(facts: dict[str, Any], *, profile: str) -> bytes:
    document = Document()
    document.context.guideline_parameter.id = profile
    is_xrechnung = profile == XRECHNUNG
    if is_xrechnung:
        document.context.business_parameter.id = PEPPOL_PROCESS
    document.header.id = facts["reference"]
    document.header.type_code = _type_code(facts, is_xrechnung=is_xrechnung)
    document.header.issue_date_time = _day(facts["issued_on"])
    for text in filter(None, (facts["reason"], facts["tax_note"])):
        note = IncludedNote()
        note.content = text
        document.header.notes.add(note)
    for position, line in enumerate(_lines(facts), start=1):
        document.trade.items.add(_line(line, position, facts))
    _fill_agreement(document, facts)
    _fill_settlement(document, facts)
    xml: bytes = document.serialize(schema=SCHEMA)
    return xml


def _type_code(facts: dict[str, Any], *, is_xrechnung: bool) -> str:
    if facts["kind"] == "credit_note":
        return CREDIT_NOTE
    if facts.get("type") == "prepayment":
        # XRechnung has no code for prepayments but that of a partial invoice.
        return PARTIAL if is_xrechnung else PREPAYMENT
    return INVOICE


def _lines(facts: dict[str, Any]) -> list[tuple[str, Decimal]]:
    """Title and net of every line; those of deducted invoices are negative."""
    deducted = facts.get("deducted", [])
    return [
        *((line["title"], Decimal(line["net"])) for line in facts.get("delivered", [])),
        *((line["title"], Decimal(line["net"])) for line in facts["lines"]),
        *((f"Less invoice {row['reference']}", -Decimal(row["net"])) for row in deducted),
    ]


def _agreed(facts: dict[str, Any]) -> str:
    """The reference of the contract version or of the audit order."""
    reference, contract = facts["engagement"]["reference"], facts["contract"]
    if contract is None:
        return f"{reference} audit order {facts['audit_order']['version']}"
    return f"{reference} v{contract['version']}"


def _fill_agreement(document: Document, facts: dict[str, Any]) -> None:
    """Seller, buyer, contract and date of supply."""
    agreement = document.trade.agreement
    is_outside = facts["tax_treatment"] == "outside_scope"
    _fill_party(agreement.seller, facts["seller"], is_outside=is_outside)
    _fill_party(agreement.buyer, facts["buyer"], is_outside=is_outside)
    _fill_contact(agreement.seller, facts.get("contact") or {})
    if facts["buyer_reference"]:
        agreement.buyer_reference = facts["buyer_reference"]
    if facts.get("purchase_order"):
        agreement.buyer_order.issuer_assigned_id = facts["purchase_order"]
    agreement.contract.issuer_assigned_id = _agreed(facts)
    delivered = [line["supplied_on"] for line in facts["lines"] if line["supplied_on"]]
    if delivered:
        document.trade.delivery.event.occurrence = _day(max(delivered))
    else:
        # Of a prepayment; the element must not be empty.
        document.trade.delivery.ship_to.name = facts["buyer"]["name"]


def _fill_contact(party: TradeParty, contact: dict[str, str]) -> None:
    """The contact for questions, without which only XRechnung is incomplete."""
    if not contact.get("phone") or not contact.get("email"):
        return
    party.contact.person_name = contact["name"]
    party.contact.telephone.number = contact["phone"]
    party.contact.email.address = contact["email"]


def _fill_party(party: TradeParty, data: dict[str, str], *, is_outside: bool = False) -> None:
    party.name = data["name"]
    lines = []
    for line in data["address"].splitlines():
        found = POSTCODE_AND_CITY.fullmatch(line.strip())
        if found:
            party.address.postcode, party.address.city_name = found["postcode"], found["city"]
        elif line.strip():
            lines.append(line.strip())
    first, second, *more = [*lines, "", ""]
    party.address.line_one, party.address.line_two = first, second
    party.address.line_three = ", ".join(filter(None, more))
    party.address.country_id = data["country"]
    if data.get("email"):
        party.electronic_address.uri_ID = ("EM", data["email"])
    if data["vat_id"] and is_outside:
        # EN 16931 allows no VAT ID where nothing is subject to VAT.
        party.id = data["vat_id"]
    elif data["vat_id"]:
        party.tax_registrations.add(TaxRegistration(id=("VA", data["vat_id"])))


def _line(line: tuple[str, Decimal], position: int, facts: dict[str, Any]) -> LineItem:
    title, net = line
    item = LineItem()
    item.document.line_id = str(position)
    item.product.name = title
    item.agreement.net.amount = abs(net)
    item.delivery.billed_quantity = (Decimal(1 if net > 0 else -1), PIECE)
    tax = item.settlement.trade_tax
    tax.type_code, tax.category_code = "VAT", _category(facts)
    if facts["tax_treatment"] != "outside_scope":
        tax.rate_applicable_percent = Decimal(facts["tax_rate_percent"])
    item.settlement.monetary_summation.total_amount = net
    return item


def _fill_settlement(document: Document, facts: dict[str, Any]) -> None:
    """Totals, tax breakdown and payment terms."""
    settlement = document.trade.settlement
    settlement.payment_reference = facts["reference"]
    settlement.currency_code = facts["currency"]
    settlement.payment_means.add(_means(facts))
    settlement.trade_tax.add(_tax(facts))
    terms = PaymentTerms()
    if facts["due_on"]:
        terms.due = _day(facts["due_on"])
    else:
        terms.description = f"Corrects {facts['corrects']['reference']}."
    settlement.terms.add(terms)
    net, tax, gross = (Decimal(facts[name]) for name in ("net", "tax", "gross"))
    summation = settlement.monetary_summation
    summation.line_total = summation.tax_basis_total = net
    summation.charge_total = summation.allowance_total = Decimal("0.00")
    summation.tax_total = (tax, facts["currency"])
    summation.grand_total = summation.due_amount = gross
    if facts["corrects"]:
        original = settlement.invoice_referenced_document
        original.issuer_assigned_id = facts["corrects"]["reference"]
        original.issue_date_time = _day(facts["corrects"]["issued_on"])


def _means(facts: dict[str, Any]) -> PaymentMeans:
    account = facts["account"]
    means = PaymentMeans()
    means.type_code = SEPA_CREDIT_TRANSFER if facts["currency"] == "EUR" else CREDIT_TRANSFER
    means.payee_account.iban, means.payee_account.account_name = account["iban"], account["holder"]
    if account["bic"]:
        means.payee_institution.bic = account["bic"]
    return means


def _tax(facts: dict[str, Any]) -> ApplicableTradeTax:
    tax = ApplicableTradeTax()
    tax.calculated_amount = Decimal(facts["tax"])
    tax.basis_amount = Decimal(facts["net"])
    tax.type_code, tax.category_code = "VAT", _category(facts)
    treatment = facts["tax_treatment"]
    if treatment != "outside_scope":
        tax.rate_applicable_percent = Decimal(facts["tax_rate_percent"])
    if treatment not in ("rate", "zero"):
        tax.exemption_reason = facts["tax_note"]
    if treatment in EXEMPTION_CODES:
        tax.exemption_reason_code = EXEMPTION_CODES[treatment]
    return tax


def _category(facts: dict[str, Any]) -> str:
    """UNTDID 5305: standard rate, zero rate, reverse charge, exempt or outside the scope."""
    if facts["tax_treatment"] == "rate":
        return "S" if Decimal(facts["tax_rate_percent"]) > 0 else "Z"
    return TAX_CATEGORIES[facts["tax_treatment"]]


def _day(text: str) -> date:
    return date.fromisoformat(text)
