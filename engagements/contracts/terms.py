"""The terms of a contract as plain data, sealed: schema twofold.terms/3.

    {"schema": "twofold.terms/3", "version": 1,
     "amends": null | {"version", "digest", "changes", "reason"},
     "engagement": {"reference", "title"}, "scope": str,
     "parties": {"consultancy": {"name", "address", "country", "vat_id", "email"},
                 "customer": {"name", "address", "country", "vat_id"}},
     "signatories": {"consultancy": [{"name", "email"}], "customer": [{"name", "email"}]},
     "signatory": null | {"name", "email"}, "valid_until": "2026-09-14" | null,
     "currency": "EUR", "fee": "48000.00", "audit_cost": "6000.00",
     "tax_rate_percent": "19.00",
     "tax": {"treatment": "rate"|"reverse_charge"|"exempt", "note": str},
     "payment_days": 14, "dispute_days": 14, "refund_days": null | 14,
     "weeks": 6, "starts_on": "2026-09-01", "began_on": null | "2026-09-03", "target": "2.00",
     "pauses": [{"starts_on", "ends_on", "waits_for", "reason"}],
     "benchmark": {"name", "digest", "operator", "program", "launch", "baseline",
                   "hardware": {"device", "name"}, "confidence": 0.95},
     "released_before": [{"version", "position", "title", "amount"}],
     "milestones": [{"position", "title", "amount", "condition", "released_when",
                     "due_on"?: "2026-10-01", "share"?: "25.00"}],
     "inconclusive": {"rule": "missed"|"repeat", "meaning": str},
     "promise": str,
     "clauses": [{"slug", "number", "title", "text", "digest"}]}

Amounts are net, as strings with the digits of the currency's minor unit. Everything that a
reader needs is copied in, so that what was agreed does not change when a customer moves house.
Milestones and what was released before them add up to the fee. An amendment says on which day
the time-box began. Whoever is the `signatory` alone signs for the customer; null leaves it to
any of those named. An amendment of who signs names there who signs what comes after it. Of the
schemas before this one sealed contracts exist: twofold.terms/2 lacks signatory and refund_days,
twofold.terms/1 also amends, valid_until, tax, dispute_days, began_on, pauses, released_before and
clauses; `terms_of` gives those what they meant then.
"""

from __future__ import annotations

import json
from datetime import date
from typing import Any, cast

from django.conf import settings
from django.db.models import Q

from benchmarks.records.canonical import canonical, digest_of_bytes
from engagements.common import money
from engagements.contracts.clauses.models import Clause
from engagements.contracts.drafting import PauseDraft, Sheet
from engagements.contracts.milestones.models import Milestone, ReleaseCondition
from engagements.contracts.models import ContractVersion
from engagements.contracts.signatories import who_signs
from engagements.contracts.time_box.models import Pause, TimeBox
from engagements.people.models import Customer, User

SCHEMA = "twofold.terms/3"
SECOND_SCHEMA = "twofold.terms/2"
FIRST_SCHEMA = "twofold.terms/1"
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
    "contract is refunded less the cost of the audit, both with their tax."
)

# What the terms of each earlier schema left unsaid.
_NOT_SAID_IN_THE_SECOND: dict[str, Any] = {"signatory": None, "refund_days": None}
LEGACY_DEFAULTS: dict[str, dict[str, Any]] = {
    SECOND_SCHEMA: _NOT_SAID_IN_THE_SECOND,
    FIRST_SCHEMA: _NOT_SAID_IN_THE_SECOND
    | {
        "amends": None,
        "valid_until": None,
        "tax": {"treatment": "rate", "note": ""},
        "dispute_days": 0,
        "began_on": None,
        "pauses": [],
        "released_before": [],
        "clauses": [],
    },
}


def seal(terms: dict[str, Any]) -> tuple[bytes, str]:
    """The canonical bytes of `terms` (RFC 8785) and their digest, "sha256:…"."""
    sealed = canonical(terms)
    return sealed, digest_of_bytes(sealed)


def terms_of(contract: ContractVersion) -> dict[str, Any]:
    """The sealed terms. Raises ValueError for a draft, which has none yet."""
    if contract.canonical is None:
        raise ValueError(f"{contract} is a draft: nothing is sealed yet.")
    terms = cast(dict[str, Any], json.loads(bytes(contract.canonical)))
    return LEGACY_DEFAULTS.get(terms["schema"], {}) | terms


def compose(sheet: Sheet) -> dict[str, Any]:
    """The terms that sealing the contract of `sheet` now would fix."""
    contract = sheet.contract
    currency, engagement = contract.currency, contract.engagement
    return {
        "schema": SCHEMA,
        "version": contract.number,
        "amends": _amends(contract),
        "engagement": {"reference": engagement.reference, "title": engagement.title},
        "scope": engagement.workload,
        "parties": {
            "consultancy": dict(settings.CONSULTANCY),
            "customer": _customer(engagement.customer),
        },
        "signatories": {
            "consultancy": [_person(engagement.lead)],
            "customer": [_person(user) for user in who_signs(contract)],
        },
        "signatory": _person(contract.signatory) if contract.signatory else None,
        "valid_until": contract.valid_until.isoformat() if contract.valid_until else None,
        "currency": currency,
        "fee": money.plain(contract.fee, currency),
        "audit_cost": money.plain(contract.audit_cost, currency),
        "tax_rate_percent": f"{contract.tax_rate_percent:.2f}",
        "tax": {"treatment": str(contract.tax_treatment), "note": contract.tax_note},
        "payment_days": contract.payment_days,
        "dispute_days": contract.dispute_days,
        "refund_days": contract.refund_days,
        "weeks": contract.weeks,
        "starts_on": contract.starts_on.isoformat(),
        "began_on": _began_on(contract),
        "target": f"{contract.target:.2f}",
        "pauses": [_pause(row) for row in sheet.pauses],
        "benchmark": _benchmark(contract),
        "released_before": [_released(row) for row in released_before(contract)],
        "milestones": [_milestone(row, currency) for row in sheet.milestones],
        "inconclusive": {
            "rule": str(contract.inconclusive),
            "meaning": INCONCLUSIVE[ContractVersion.Inconclusive(contract.inconclusive)],
        },
        "promise": _promise(contract),
        "clauses": [_clause(row) for row in sheet.clauses],
    }


def pauses_of(terms: dict[str, Any]) -> list[PauseDraft]:
    """The pauses of sealed or composed terms, with days as dates."""
    return [
        PauseDraft(
            starts_on=date.fromisoformat(each["starts_on"]),
            ends_on=date.fromisoformat(each["ends_on"]),
            waits_for=each["waits_for"],
            reason=each["reason"],
        )
        for each in terms["pauses"]
    ]


def released_before(contract: ContractVersion) -> list[Milestone]:
    """What earlier versions released of the fee and keep; nothing for a first contract.

    What was billed and credited since is among it: it is owed no more, and no amendment asks for
    it again.
    """
    if contract.amends_id is None:
        return []
    kept = Q(state__in=(Milestone.State.RELEASED, Milestone.State.BILLED))
    credited = Q(state=Milestone.State.VOID, billed_at__isnull=False)
    return list(
        Milestone.objects.filter(
            kept | credited,
            contract_version__engagement=contract.engagement,
            contract_version__number__lt=contract.number,
        )
        .select_related("contract_version")
        .order_by("contract_version__number", "position")
    )


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


def _amends(contract: ContractVersion) -> dict[str, Any] | None:
    amended = contract.amends
    if amended is None:
        return None
    return {
        "version": amended.number,
        "digest": amended.digest,
        "changes": str(contract.amendment),
        "reason": contract.amendment_reason,
    }


def _promise(contract: ContractVersion) -> str:
    """The promise for the contract's target. An amendment that keeps the target keeps the words
    that were sealed: what is worded otherwise since then was not agreed."""
    amended = contract.amends
    if amended is not None and amended.target == contract.target:
        return str(terms_of(amended)["promise"])
    return PROMISE.format(target=f"{contract.target.normalize():f}")


def _began_on(contract: ContractVersion) -> str | None:
    """When the clock of what is amended started; a first contract cannot know it yet."""
    if contract.amends_id is None:
        return None
    return TimeBox.objects.get(engagement=contract.engagement).starts_on.isoformat()


def _milestone(milestone: Milestone, currency: str) -> dict[str, Any]:
    condition = ReleaseCondition(milestone.condition)
    terms: dict[str, Any] = {
        "position": milestone.position,
        "title": milestone.title,
        "amount": money.plain(milestone.amount, currency),
        "condition": str(condition),
        "released_when": RELEASED_WHEN[condition],
    }
    if milestone.due_on is not None:
        terms["due_on"] = milestone.due_on.isoformat()
        terms["released_when"] = f"{milestone.due_on.isoformat()} has come"
    if milestone.share is not None:
        terms["share"] = f"{milestone.share:.2f}"
    return terms


def _released(milestone: Milestone) -> dict[str, Any]:
    version = milestone.contract_version
    return {
        "version": version.number,
        "position": milestone.position,
        "title": milestone.title,
        "amount": money.plain(milestone.amount, version.currency),
    }


def _pause(pause: Pause) -> dict[str, str]:
    return {
        "starts_on": pause.starts_on.isoformat(),
        "ends_on": pause.ends_on.isoformat(),
        "waits_for": pause.waits_for,
        "reason": pause.reason,
    }


def _clause(clause: Clause) -> dict[str, Any]:
    return {
        "slug": clause.slug,
        "number": clause.number,
        "title": clause.title,
        "text": clause.text,
        "digest": clause.digest,
    }
