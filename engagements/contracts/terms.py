"""The terms of a contract as canonical JSON, sealed under SCHEMA.

Beside the values of every entry of fields.FIELDS:

    {"schema", "version", "amends": null | {"version", "digest", "changes", "reason"},
     "engagement": {"reference", "title"}, "scope": str,
     "parties": {"consultancy": {"name", "address", "country", "vat_id", "email"},
                 "customer": {"name", "address", "country", "vat_id"}},
     "signatories": {"consultancy": [{"name", "email"}], "customer": [{"name", "email"}]},
     "began_on": null | "2026-09-03", "promise": str,
     "pauses": [{"starts_on", "ends_on", "waits_for", "reason"}],
     "released_before": [{"version", "position", "title", "amount"}],
     "milestones": [{"position", "title", "amount", "condition", "released_when",
                     "due_on"?: "2026-10-01", "share"?: "25.00"}],
     "text": {"summary", "clauses", "schedules"}}, as in `clauses.text`

The text prevails; the other values repeat it for machines.

Amounts are net, as strings with the digits of the currency's minor unit. Everything a reader
needs is copied in, so that a customer's new address does not change what was agreed. Milestones
and the parts released before them add up to the fee. An amendment states when the time-box began.
The `signatory` signs alone for the customer; null leaves it to any of its signatories. An
amendment of the signatory names the one of the versions after it.
"""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import Any, cast

from django.conf import settings
from django.db import models
from django.db.models import Q

from benchmarks.records.canonical import canonical, digest_of_bytes
from engagements.common import money
from engagements.contracts.clauses.text import text_of
from engagements.contracts.drafting import ContractDraft, PauseDraft
from engagements.contracts.fields import FIELDS, person
from engagements.contracts.milestones.conditions import CONDITIONS
from engagements.contracts.milestones.models import Milestone, ReleaseCondition
from engagements.contracts.models import ContractVersion
from engagements.contracts.signatories import who_signs
from engagements.contracts.time_box.models import Pause, TimeBox
from engagements.contracts.time_box.services import last_day

SCHEMA = "twofold.terms/4"
PROMISE = (
    "If the candidate does not reach {target} times the end-to-end speed of the baseline on the "
    "benchmark inside the time-box, the consultancy refunds every payment received for the fee, "
    "less the cost of the audit, both with their tax."
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


def compose(draft: ContractDraft) -> dict[str, Any]:
    """The terms that sealing `draft` now would fix."""
    contract, terms = draft.contract, _data(draft)
    starts_on = date.fromisoformat(terms["began_on"] or terms["starts_on"])
    ends_on = last_day(starts_on, contract.weeks, draft.pauses)
    text = text_of(terms, contract.benchmark.document, draft.clauses, ends_on=ends_on)
    return {**terms, "text": text}


def _data(draft: ContractDraft) -> dict[str, Any]:
    contract = draft.contract
    engagement = contract.engagement
    return {
        "schema": SCHEMA,
        "version": contract.number,
        "amends": _amends(contract),
        "engagement": {"reference": engagement.reference, "title": engagement.title},
        "scope": engagement.workload,
        "parties": {
            "consultancy": dict(settings.CONSULTANCY),
            "customer": _columns(engagement.customer, "name", "address", "country", "vat_id"),
        },
        "signatories": {
            "consultancy": [person(engagement.lead)],
            "customer": [person(user) for user in who_signs(contract)],
        },
        **{each.sealed_key: each.seal(contract) for each in FIELDS if each.seal is not None},
        "began_on": _began_on(contract),
        "promise": _promise(contract),
        "pauses": [_pause(row) for row in draft.pauses],
        "released_before": [_released(row) for row in released_before(contract)],
        "milestones": [_milestone(row, contract.currency) for row in draft.milestones],
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


def released_amount(contract: ContractVersion) -> Decimal:
    """The net amount that earlier versions released of the fee; 0 for a first contract."""
    return sum((row.amount for row in released_before(contract)), Decimal(0))


def released_before(contract: ContractVersion) -> list[Milestone]:
    """The milestones that earlier versions released; none for a first contract.

    Those billed and credited since are among them: no amendment charges them again.
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
    """The promise for the contract's target. An amendment with the same target repeats the sealed
    words: a later wording was not agreed."""
    amended = contract.amends
    if amended is not None and amended.target == contract.target:
        return str(terms_of(amended)["promise"])
    return PROMISE.format(target=f"{contract.target.normalize():f}")


def _began_on(contract: ContractVersion) -> str | None:
    """The first day of the time-box; None before a contract is in force."""
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
        "released_when": CONDITIONS[condition].released_when,
    }
    if milestone.due_on is not None:
        terms["due_on"] = milestone.due_on.isoformat()
        terms["released_when"] = f"{milestone.due_on.isoformat()} is reached"
    if milestone.share is not None:
        terms["share"] = f"{milestone.share:.2f}"
    return terms


def _columns(row: models.Model, *names: str) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


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
