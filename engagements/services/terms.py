"""The terms of a contract as plain data, sealed: schema twofold.terms/1.

    {"schema": "twofold.terms/1", "version": 1,
     "engagement": {"reference", "title"}, "scope": str,
     "parties": {"consultancy": {"name", "address", "country", "vat_id", "email"},
                 "customer": {"name", "address", "country", "vat_id"}},
     "signatories": {"consultancy": [{"name", "email"}], "customer": [{"name", "email"}]},
     "currency": "EUR", "fee": "48000.00", "audit_cost": "6000.00",
     "tax_rate_percent": "19.00", "payment_days": 14,
     "weeks": 6, "starts_on": "2026-09-01", "target": "2.00",
     "benchmark": {"name", "digest", "operator", "program", "launch", "baseline",
                   "hardware": {"device", "name"}, "confidence": 0.95},
     "milestones": [{"position", "title", "amount", "condition", "released_when"}],
     "inconclusive": {"rule": "missed"|"repeat", "meaning": str},
     "promise": str}

Amounts are net, as strings with the digits of the currency's minor unit. Everything that a
reader needs is copied in, so that what was agreed does not change when a customer moves house.
"""

from __future__ import annotations

import json
from typing import Any, cast

from django.conf import settings

from benchmarks.harness.canonical import canonical, digest_of_bytes
from engagements import money
from engagements.models import (
    ContractVersion,
    Customer,
    Membership,
    Milestone,
    ReleaseCondition,
    Role,
    User,
)

SCHEMA = "twofold.terms/1"
PAYMENT_DAYS = 14
RELEASED_WHEN = {
    ReleaseCondition.SIGNED: "both parties have accepted this contract",
    ReleaseCondition.AUDIT_DELIVERED: "the audit is delivered",
    ReleaseCondition.DATE: "the day named has come",
    ReleaseCondition.TARGET_MET: "an acceptance run meets the target",
    ReleaseCondition.HANDOVER: "the customer has accepted the handover",
}
INCONCLUSIVE = {
    ContractVersion.Inconclusive.MISSED: (
        "An acceptance run that shows the target neither met nor missed counts as missed."
    ),
    ContractVersion.Inconclusive.REPEAT: (
        "An acceptance run that shows the target neither met nor missed decides nothing. "
        "It is repeated inside the time-box; when the time-box ends without a met target, "
        "the target counts as missed."
    ),
}
PROMISE = (
    "If the kernel does not reach {target} times the end-to-end speed of the off-the-shelf "
    "baseline on the agreed benchmark inside the time-box, every payment received under this "
    "contract is refunded less the cost of the audit."
)


def seal(terms: dict[str, Any]) -> tuple[bytes, str]:
    """The canonical bytes of `terms` (RFC 8785) and their digest, "sha256:…"."""
    sealed = canonical(terms)
    return sealed, digest_of_bytes(sealed)


def terms_of(contract: ContractVersion) -> dict[str, Any]:
    """The sealed terms. Raises ValueError for a draft, which has none yet."""
    if contract.canonical is None:
        raise ValueError(f"{contract} is a draft: nothing is sealed yet.")
    return cast(dict[str, Any], json.loads(bytes(contract.canonical)))


def compose(contract: ContractVersion) -> dict[str, Any]:
    """The terms that sealing `contract` now would fix."""
    currency = contract.currency
    engagement = contract.engagement
    return {
        "schema": SCHEMA,
        "version": contract.number,
        "engagement": {"reference": engagement.reference, "title": engagement.title},
        "scope": engagement.workload,
        "parties": {
            "consultancy": dict(settings.CONSULTANCY),
            "customer": _customer(engagement.customer),
        },
        "signatories": {
            "consultancy": [_person(engagement.lead)],
            "customer": [_person(user) for user in signatories_of(engagement.customer)],
        },
        "currency": currency,
        "fee": money.plain(contract.fee, currency),
        "audit_cost": money.plain(contract.audit_cost, currency),
        "tax_rate_percent": f"{contract.tax_rate_percent:.2f}",
        "payment_days": PAYMENT_DAYS,
        "weeks": contract.weeks,
        "starts_on": contract.starts_on.isoformat(),
        "target": f"{contract.target:.2f}",
        "benchmark": _benchmark(contract),
        "milestones": [_milestone(row, currency) for row in contract.milestones.all()],
        "inconclusive": {
            "rule": str(contract.inconclusive),
            "meaning": INCONCLUSIVE[ContractVersion.Inconclusive(contract.inconclusive)],
        },
        "promise": PROMISE.format(target=f"{contract.target.normalize():f}"),
    }


def signatories_of(customer: Customer) -> list[User]:
    """The active people who may bind `customer`, by name."""
    memberships = Membership.objects.filter(
        customer=customer,
        rights=Membership.Rights.SIGNATORY,
        user__is_active=True,
        user__role=Role.NONE,
    ).select_related("user")
    return sorted((membership.user for membership in memberships), key=lambda user: user.email)


def _person(user: User) -> dict[str, str]:
    return {"name": user.name, "email": user.email}


def _customer(customer: Customer) -> dict[str, str]:
    return {
        "name": customer.name,
        "address": customer.address,
        "country": customer.country,
        "vat_id": customer.vat_id,
    }


def _benchmark(contract: ContractVersion) -> dict[str, Any]:
    document = contract.benchmark.document
    return {
        "name": contract.benchmark.name,
        "digest": contract.benchmark.digest,
        "operator": document["operator"],
        "program": document["program"]["name"],
        "launch": document["program"]["launch"],
        "baseline": document["baseline"]["title"],
        "hardware": document["hardware"],
        "confidence": document["confidence"],
    }


def _milestone(milestone: Milestone, currency: str) -> dict[str, Any]:
    return {
        "position": milestone.position,
        "title": milestone.title,
        "amount": money.plain(milestone.amount, currency),
        "condition": str(milestone.condition),
        "released_when": RELEASED_WHEN[ReleaseCondition(milestone.condition)],
    }
