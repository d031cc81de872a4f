"""The facts frozen on an invoice when it is issued: schema twofold.invoice/1.

    {"schema": "twofold.invoice/1", "kind": "invoice"|"credit_note",
     "reference": "INV-2026-0001", "issued_on": "2026-09-01", "due_on": "2026-09-15"|null,
     "seller": {"name", "address", "country", "vat_id", "email"},
     "account": {"holder", "iban", "bic"},
     "buyer": {"name", "address", "country", "vat_id", "email"}, "buyer_reference": str,
     "engagement": {"reference", "title"},
     "contract": {"version", "digest"}|null, "audit_order": {"version", "digest"}|null,
     "charge": ""|"repeat"|"maintenance"|"convenience"|"cause",
     "contact": {"name", "phone", "email"}, "purchase_order": str,
     "type": "invoice"|"prepayment"|"final",
     "delivered": [{"title", "net"}],
     "deducted": [{"reference", "issued_on", "net", "tax", "gross"}],
     "payment_days": 14, "locale": "en_GB", "e_invoice": bool, "currency": "EUR",
     "tax_treatment": "rate"|"reverse_charge"|"exempt"|"zero"|"outside_scope",
     "tax_rate_percent": "19.00",
     "tax_note": str,
     "lines": [{"position", "title", "contract_version": 1|null, "supplied_on", "net", "tax"}],
     "net", "tax", "gross": "14280.00",
     "corrects": {"reference", "issued_on"}|null, "reason": str}

A prepayment is billed before delivery. A final invoice lists the lines of earlier invoices as
`delivered` and deducts those invoices, less their credit notes. Both lists add up to the same net,
so that `net` is that of its own `lines`. Amounts are strings with the digits of the currency's
minor unit, positive in both kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from engagements.audit.models import Audit
from engagements.billing import final_invoices
from engagements.billing.models import Invoice, InvoiceLine
from engagements.common import money
from engagements.contracts.models import ContractVersion
from engagements.orders.models import AuditOrder
from engagements.people.models import Customer

SCHEMA = "twofold.invoice/1"
# ISO 3166-1. Territories with their own rules, such as Northern Ireland, opt in.
EU = frozenset(
    (
        *("AT", "BE", "BG", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GR", "HR", "HU"),
        *("IE", "IT", "LT", "LU", "LV", "MT", "NL", "PL", "PT", "RO", "SE", "SI", "SK"),
    )
)
# EN 16931 allows two decimals at most.
E_INVOICE_DIGITS = 2


def compose(invoice: Invoice, lines: Sequence[InvoiceLine]) -> dict[str, Any]:
    """The facts of `invoice` with its current number and dates."""
    currency, terms = invoice.currency, invoice.terms
    original = invoice.corrects
    return {
        "schema": SCHEMA,
        "kind": str(invoice.kind),
        "reference": invoice.reference,
        "issued_on": _iso(invoice.issued_on),
        "due_on": _iso(invoice.due_on),
        "seller": dict(settings.CONSULTANCY),
        "account": dict(settings.BANK_ACCOUNT),
        "buyer": _buyer(invoice.customer),
        "buyer_reference": invoice.customer.buyer_reference,
        "purchase_order": invoice.purchase_order,
        "contact": dict(settings.INVOICE_CONTACT),
        "engagement": {
            "reference": invoice.engagement.reference,
            "title": invoice.engagement.title,
        },
        **_agreement(terms),
        "charge": invoice.charge.kind if invoice.charge else "",
        "payment_days": terms.payment_days,
        "locale": invoice.customer.locale,
        "e_invoice": wants_e_invoice(invoice.customer, invoice),
        "currency": currency,
        **_tax(terms, original),
        **final_invoices.facts_of(invoice, lines),
        "lines": [_line(line, currency) for line in lines],
        "net": money.plain(invoice.net, currency),
        "tax": money.plain(invoice.tax, currency),
        "gross": money.plain(invoice.gross, currency),
        "corrects": original
        and {"reference": original.reference, "issued_on": _iso(original.issued_on)},
        "reason": invoice.reason,
    }


def wants_e_invoice(customer: Customer, invoice: Invoice) -> bool:
    """Whether to embed an e-invoice: EU or opted in, and the currency has at most two decimals."""
    is_wanted = customer.country in EU or customer.wants_e_invoice
    return is_wanted and money.minor_digits(invoice.currency) <= E_INVOICE_DIGITS


def _agreement(terms: ContractVersion | AuditOrder) -> dict[str, Any]:
    named = {"version": terms.number, "digest": terms.digest}
    is_order = isinstance(terms, AuditOrder)
    return {"contract": None if is_order else named, "audit_order": named if is_order else None}


def _tax(terms: ContractVersion | AuditOrder, original: Invoice | None) -> dict[str, str]:
    """The agreed tax treatment, or that of the invoice which a credit note corrects."""
    if original is not None and original.frozen:
        names = ("tax_treatment", "tax_rate_percent", "tax_note")
        return {name: original.frozen[name] for name in names}
    return {
        "tax_treatment": str(terms.tax_treatment),
        "tax_rate_percent": f"{terms.tax_rate_percent:.2f}",
        "tax_note": terms.tax_note,
    }


def _buyer(customer: Customer) -> dict[str, str]:
    return {
        "name": customer.name,
        "address": customer.address,
        "country": customer.country,
        "vat_id": customer.vat_id,
        "email": customer.invoice_email,
    }


def _line(line: InvoiceLine, currency: str) -> dict[str, Any]:
    # A prepayment is billed before anything is supplied.
    is_advance = line.condition in final_invoices.BEFORE_DELIVERY
    released_at = None if is_advance else _supplied_at(line)
    return {
        "position": line.position,
        "title": line.title,
        "contract_version": line.milestone and line.milestone.contract_version.number,
        "supplied_on": _iso(timezone.localtime(released_at).date() if released_at else None),
        "net": money.plain(line.net, currency),
        "tax": money.plain(line.tax, currency),
    }


def _supplied_at(line: InvoiceLine) -> datetime | None:
    if line.milestone is not None:
        return line.milestone.released_at
    if line.invoice.charge is not None:
        return line.invoice.charge.decided_at
    return Audit.objects.get(engagement=line.invoice.engagement_id).delivered_at


def _iso(day: date | None) -> str | None:
    return day.isoformat() if day else None
