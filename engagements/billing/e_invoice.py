"""Electronic invoice: EN 16931 as Factur-X (Cross Industry Invoice), built with drafthorse."""

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

FILENAME = "factur-x.xml"
PROFILE = "urn:cen.eu:en16931:2017"
SCHEMA = "FACTUR-X_EN16931"
# Codes of UNTDID 1001 and 4461, UN/ECE recommendation 20 and VATEX.
INVOICE, CREDIT_NOTE = "380", "381"
CREDIT_TRANSFER, SEPA_CREDIT_TRANSFER = "30", "58"
PIECE = "C62"
TAX_CATEGORIES = {"reverse_charge": "AE", "exempt": "E"}
REVERSE_CHARGE = "VATEX-EU-AE"
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
    document = Document()
    document.context.guideline_parameter.id = PROFILE
    is_credit_note = facts["kind"] == "credit_note"
    document.header.id = facts["reference"]
    document.header.type_code = CREDIT_NOTE if is_credit_note else INVOICE
    document.header.issue_date_time = _day(facts["issued_on"])
    for text in filter(None, (facts["reason"], facts["tax_note"])):
        note = IncludedNote()
        note.content = text
        document.header.notes.add(note)
    for line in facts["lines"]:
        document.trade.items.add(_line(line, facts))
    _fill_agreement(document, facts)
    _fill_settlement(document, facts)
    xml: bytes = document.serialize(schema=SCHEMA)
    return xml


def _fill_agreement(document: Document, facts: dict[str, Any]) -> None:
    """Seller, buyer, contract and date of supply."""
    agreement = document.trade.agreement
    _fill_party(agreement.seller, facts["seller"])
    _fill_party(agreement.buyer, facts["buyer"])
    if facts["buyer_reference"]:
        agreement.buyer_reference = facts["buyer_reference"]
    engagement, contract = facts["engagement"], facts["contract"]
    agreement.contract.issuer_assigned_id = f"{engagement['reference']} v{contract['version']}"
    delivered = [line["supplied_on"] for line in facts["lines"] if line["supplied_on"]]
    if delivered:
        document.trade.delivery.event.occurrence = _day(max(delivered))


def _fill_party(party: TradeParty, data: dict[str, str]) -> None:
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
    if data["vat_id"]:
        party.tax_registrations.add(TaxRegistration(id=("VA", data["vat_id"])))


def _line(line: dict[str, Any], facts: dict[str, Any]) -> LineItem:
    item = LineItem()
    item.document.line_id = str(line["position"])
    item.product.name = line["title"]
    item.agreement.net.amount = Decimal(line["net"])
    item.delivery.billed_quantity = (Decimal(1), PIECE)
    tax = item.settlement.trade_tax
    tax.type_code, tax.category_code = "VAT", _category(facts)
    tax.rate_applicable_percent = Decimal(facts["tax_rate_percent"])
    item.settlement.monetary_summation.total_amount = Decimal(line["net"])
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
    tax.rate_applicable_percent = Decimal(facts["tax_rate_percent"])
    if facts["tax_treatment"] != "rate":
        tax.exemption_reason = facts["tax_note"]
    if facts["tax_treatment"] == "reverse_charge":
        tax.exemption_reason_code = REVERSE_CHARGE
    return tax


def _category(facts: dict[str, Any]) -> str:
    """UNTDID 5305: standard rate, zero rate, reverse charge or exempt."""
    if facts["tax_treatment"] == "rate":
        return "S" if Decimal(facts["tax_rate_percent"]) > 0 else "Z"
    return TAX_CATEGORIES[facts["tax_treatment"]]


def _day(text: str) -> date:
    return date.fromisoformat(text)
