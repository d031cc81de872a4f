"""The sealed terms of an audit order: schema twofold.audit_order/1.

    {"schema": "twofold.audit_order/1", "number": 1,
     "engagement": {"reference", "title", "workload"},
     "parties": {"consultancy": {...}, "customer": {"name", "address", "country", "vat_id"}},
     "price", "tax", "gross": "7140.00", "currency": "EUR",
     "tax_treatment", "tax_rate_percent", "tax_note", "payment_days", "valid_until",
     "clauses": [str]}

Amounts are strings with the digits of the currency's minor unit.
"""

from __future__ import annotations

import json
from typing import Any, cast

from django.conf import settings

from engagements.common import money
from engagements.orders.models import AuditOrder

SCHEMA = "twofold.audit_order/1"
CLAUSES = (
    "We audit the workload by six checks and deliver a written report with the outcome of each: "
    "custom kernel work, cheaper interventions, or neither.",
    "The price is fixed. It is due whatever the outcome, once the report is delivered.",
    "If a contract for custom kernel work follows, its fee includes the audit, and this order is "
    "not invoiced.",
    "Measurements and files that you give us for the audit are used for this engagement only.",
)


def compose(order: AuditOrder) -> dict[str, Any]:
    """The terms of an order, with everything that a reader needs copied in."""
    engagement, customer = order.engagement, order.engagement.customer
    return {
        "schema": SCHEMA,
        "number": order.number,
        "engagement": {
            "reference": engagement.reference,
            "title": engagement.title,
            "workload": engagement.workload,
        },
        "parties": {
            "consultancy": dict(settings.CONSULTANCY),
            "customer": {
                name: getattr(customer, name) for name in ("name", "address", "country", "vat_id")
            },
        },
        "price": money.plain(order.price, order.currency),
        "tax": money.plain(order.gross - order.price, order.currency),
        "gross": money.plain(order.gross, order.currency),
        "currency": order.currency,
        "tax_treatment": str(order.tax_treatment),
        "tax_rate_percent": f"{order.tax_rate_percent:.2f}",
        "tax_note": order.tax_note,
        "payment_days": order.payment_days,
        "valid_until": order.valid_until.isoformat(),
        "clauses": list(CLAUSES),
    }


def terms_of(order: AuditOrder) -> dict[str, Any]:
    """The sealed terms."""
    return cast(dict[str, Any], json.loads(bytes(order.canonical)))
