"""The contract: drafted, sealed by the offer, accepted by both sides or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from benchmarks.models import Benchmark
from engagements import money
from engagements.errors import Refused
from engagements.models import Audit, ContractVersion, Engagement, Milestone, Stage, User
from engagements.services import checked, dispatch, events, lifecycle
from engagements.services import terms as terms_
from engagements.services.acceptances import accept
from engagements.services.terms import terms_of

__all__ = [
    "MilestoneDraft",
    "accept",
    "decline",
    "draft",
    "offer",
    "revise",
    "terms_of",
    "withdraw",
]

State = ContractVersion.State


@dataclass(frozen=True)
class MilestoneDraft:
    """A part of the fee: a net `amount` and the condition (a ReleaseCondition) it waits for."""

    title: str
    amount: Decimal
    condition: str


@transaction.atomic
def draft(
    *,
    engagement: Engagement,
    benchmark: Benchmark,
    fee: Decimal,
    audit_cost: Decimal,
    currency: str,
    tax_rate_percent: Decimal,
    weeks: int,
    starts_on: date,
    target: Decimal,
    inconclusive: str,
    milestones: Sequence[MilestoneDraft],
    by: User,
) -> ContractVersion:
    """Draft the next version of the terms. The milestones add up to the fee exactly."""
    row = lifecycle.locked(engagement.pk)
    lifecycle.require_consultant(by)
    lifecycle.require_stage(row, Stage.AUDITED, to="for a contract to be drafted")
    if row.contracts.filter(state__in=[State.DRAFT, State.OFFERED]).exists():
        raise Refused("Another version is being drafted or on offer already.")
    last = row.contracts.aggregate(last=Max("number"))["last"] or 0
    contract = ContractVersion(engagement=row, number=last + 1, drafted_by=by)
    contract.benchmark = benchmark
    contract.fee, contract.audit_cost, contract.currency = fee, audit_cost, currency
    contract.tax_rate_percent, contract.weeks = tax_rate_percent, weeks
    contract.starts_on, contract.target = starts_on, target
    contract.inconclusive = inconclusive
    _write(contract, milestones)
    events.record(
        engagement=row,
        verb="contract.drafted",
        summary=f"Version {contract.number} of the contract was drafted.",
        actor=by,
        changes=_figures(contract),
    )
    return contract


@transaction.atomic
def revise(
    *,
    contract: ContractVersion,
    benchmark: Benchmark,
    fee: Decimal,
    audit_cost: Decimal,
    currency: str,
    tax_rate_percent: Decimal,
    weeks: int,
    starts_on: date,
    target: Decimal,
    inconclusive: str,
    milestones: Sequence[MilestoneDraft],
    by: User,
) -> ContractVersion:
    """Rewrite a draft. Sealed terms are never changed: withdraw the offer and draft anew."""
    row, engagement = _locked(contract)
    lifecycle.require_consultant(by)
    lifecycle.require_stage(engagement, Stage.AUDITED, to="for a draft to change")
    if row.state != State.DRAFT:
        raise Refused(f"Version {row.number} is sealed and is never changed: draft another.")
    before = _figures(row)
    row.benchmark = benchmark
    row.fee, row.audit_cost, row.currency = fee, audit_cost, currency
    row.tax_rate_percent, row.weeks = tax_rate_percent, weeks
    row.starts_on, row.target = starts_on, target
    row.inconclusive = inconclusive
    row.milestones.all().delete()
    _write(row, milestones)
    after = _figures(row)
    events.record(
        engagement=engagement,
        verb="contract.revised",
        summary=f"The draft of version {row.number} was revised.",
        actor=by,
        changes={key: [before[key], after[key]] for key in after if before[key] != after[key]},
    )
    return row


@transaction.atomic
def offer(*, contract: ContractVersion, by: User) -> ContractVersion:
    """Seal the draft and offer it to the customer. From here on nothing in it changes."""
    row, engagement = _locked(contract)
    lifecycle.require_consultant(by)
    if row.state == State.OFFERED:
        return row
    if row.state != State.DRAFT:
        raise Refused(f"Version {row.number} was offered before: draft another.")
    lifecycle.require_stage(engagement, Stage.AUDITED, to="for its contract to be offered")
    _check_terms(row, list(row.milestones.values_list("amount", flat=True)))
    if not terms_.signatories_of(engagement.customer):
        raise Refused(f"Nobody may sign for {engagement.customer} yet: name a signatory first.")
    row.canonical, row.digest = terms_.seal(terms_.compose(row))
    row.state, row.sealed_at = State.OFFERED, timezone.now()
    checked.save(row)
    events.record(
        engagement=engagement,
        verb="contract.offered",
        summary=f"Version {row.number} of the contract was sealed and offered.",
        actor=by,
        changes={**lifecycle.move(engagement, Stage.OFFERED), "digest": row.digest},
        for_customer=True,
    )
    dispatch.issue_document("contract", f"contract:{row.pk}")
    return row


@transaction.atomic
def decline(
    *, contract: ContractVersion, reason: str, by: User, address: str | None = None
) -> ContractVersion:
    """The customer's signatory says no to the offer. Another version may be drafted."""
    row, engagement = _locked(contract)
    lifecycle.require_signatory(engagement, by)
    if row.state == State.DECLINED:
        return row
    if row.acceptances.filter(party="customer").exists():
        raise Refused(f"{engagement.customer} has accepted these terms already.")
    return _take_back(row, engagement, State.DECLINED, reason, by, address)


@transaction.atomic
def withdraw(*, contract: ContractVersion, reason: str, by: User) -> ContractVersion:
    """The consultancy takes its offer back, as long as not both sides have accepted it."""
    row, engagement = _locked(contract)
    lifecycle.require_consultant(by)
    if row.state == State.WITHDRAWN:
        return row
    return _take_back(row, engagement, State.WITHDRAWN, reason, by, None)


def _take_back(
    contract: ContractVersion,
    engagement: Engagement,
    state: ContractVersion.State,
    reason: str,
    by: User,
    address: str | None,
) -> ContractVersion:
    if contract.state != State.OFFERED:
        raise Refused(f"Version {contract.number} of the contract is not on offer.")
    why = checked.text(reason, noun="The reason")
    changes = lifecycle.move(engagement, Stage.AUDITED)
    contract.state = state
    contract.save(update_fields=["state"])
    events.record(
        engagement=engagement,
        verb=f"contract.{state.value}",
        summary=f"Version {contract.number} of the contract was {state.label.lower()}: {why}",
        actor=by,
        address=address,
        changes={**changes, "reason": why},
        for_customer=True,
    )
    return contract


def _locked(contract: ContractVersion) -> tuple[ContractVersion, Engagement]:
    """The contract read again under its engagement's lock."""
    engagement = lifecycle.locked(contract.engagement_id)
    row = ContractVersion.objects.select_related("benchmark").get(pk=contract.pk)
    row.engagement = engagement
    return row, engagement


def _write(contract: ContractVersion, milestones: Sequence[MilestoneDraft]) -> None:
    contract.fee = checked.amount(contract.fee, contract.currency, noun="The fee")
    contract.audit_cost = checked.amount(
        contract.audit_cost, contract.currency, noun="The audit cost"
    )
    amounts = [
        checked.amount(part.amount, contract.currency, noun=f"“{part.title}”")
        for part in milestones
    ]
    _check_terms(contract, amounts)
    checked.save(contract)
    for position, (part, amount) in enumerate(zip(milestones, amounts, strict=True), start=1):
        checked.save(
            Milestone(
                contract_version=contract,
                position=position,
                title=checked.text(part.title, noun=f"The title of milestone {position}"),
                amount=amount,
                condition=part.condition,
            )
        )


def _check_terms(contract: ContractVersion, amounts: Sequence[Decimal]) -> None:
    """What the terms have to agree with, outside their own row."""
    total = sum(amounts, Decimal(0))
    if total != contract.fee:
        raise Refused(
            f"The milestones add up to {total:f}, the fee is {contract.fee:f} {contract.currency}."
        )
    audit = Audit.objects.get(engagement=contract.engagement)
    if contract.currency != audit.currency:
        raise Refused(f"The audit was priced in {audit.currency}, and so is the contract.")
    if contract.audit_cost > audit.cost:
        raise Refused(
            f"The audit cost that is kept is at most what the audit was priced at, {audit.cost:f}."
        )
    sealed = Decimal(str(contract.benchmark.document["target"]))
    if sealed != contract.target:
        raise Refused(
            f"The benchmark is sealed with a target of {sealed:f}x; the contract says "
            f"{contract.target:f}x. They have to be the same."
        )


def _figures(contract: ContractVersion) -> dict[str, str]:
    """What of the terms the event log keeps."""
    currency = contract.currency
    return {
        "fee": money.plain(contract.fee, currency),
        "audit_cost": money.plain(contract.audit_cost, currency),
        "currency": currency,
        "tax_rate_percent": f"{contract.tax_rate_percent:.2f}",
        "weeks": str(contract.weeks),
        "starts_on": contract.starts_on.isoformat(),
        "target": f"{contract.target:.2f}",
        "inconclusive": str(contract.inconclusive),
        "benchmark": contract.benchmark.digest,
        "milestones": "; ".join(
            f"{row.title}: {money.plain(row.amount, currency)} ({row.condition})"
            for row in contract.milestones.order_by("position")
        ),
    }
