"""The contract: drafted, sealed by the offer, accepted by both sides or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from django.db import transaction
from django.db.models import Max, Q
from django.utils import timezone

from engagements.errors import Refused
from engagements.models import Clause, ContractVersion, Engagement, Party, Stage, User
from engagements.services import checked, clauses, dispatch, drafting, events, lifecycle
from engagements.services import terms as terms_
from engagements.services.acceptances import accept
from engagements.services.drafting import Figures, MilestoneDraft
from engagements.services.terms import terms_of

__all__ = [
    "MilestoneDraft",
    "accept",
    "decline",
    "discard",
    "draft",
    "expire",
    "expiring",
    "next_version",
    "note_viewed",
    "offer",
    "preview",
    "revise",
    "terms_of",
    "withdraw",
]

State = ContractVersion.State


@transaction.atomic
def draft(
    *,
    engagement: Engagement,
    milestones: Sequence[MilestoneDraft],
    by: User,
    governed_by: Sequence[Clause] | None = None,
    **figures: Unpack[Figures],
) -> ContractVersion:
    """Draft the next version of the terms. The milestones add up to the fee exactly.

    Without `governed_by` the newest number of every clause stands in it.
    """
    row = lifecycle.locked(engagement.pk)
    lifecycle.require_consultant(by)
    lifecycle.require_stage(row, Stage.AUDITED, to="for a contract to be drafted")
    contract = _with(next_version(row, by), figures)
    chosen = clauses.newest() if governed_by is None else governed_by
    drafting.write(drafting.assemble(contract, milestones=milestones, clauses=chosen))
    events.record(
        engagement=row,
        verb="contract.drafted",
        summary=f"Version {contract.number} of the contract was drafted.",
        actor=by,
        changes=drafting.figures(contract),
    )
    return contract


def next_version(engagement: Engagement, by: User) -> ContractVersion:
    """The row of the next version, not saved, under the engagement's lock.

    Refused while another is open.
    """
    if engagement.contracts.filter(state__in=[State.DRAFT, State.OFFERED]).exists():
        raise Refused("Another version is being drafted or on offer already.")
    last = engagement.contracts.aggregate(last=Max("number"))["last"] or 0
    return ContractVersion(engagement=engagement, number=last + 1, drafted_by=by)


@transaction.atomic
def revise(
    *,
    contract: ContractVersion,
    milestones: Sequence[MilestoneDraft],
    by: User,
    governed_by: Sequence[Clause] | None = None,
    **figures: Unpack[Figures],
) -> ContractVersion:
    """Rewrite a draft. Sealed terms are never changed: withdraw the offer and draft anew.

    Without `governed_by` the clauses that stand in it stay.
    """
    row, engagement = _locked(contract)
    lifecycle.require_consultant(by)
    lifecycle.require_stage(engagement, Stage.AUDITED, to="for a draft to change")
    if row.state != State.DRAFT:
        raise Refused(f"Version {row.number} is sealed and is never changed: draft another.")
    before = drafting.figures(row)
    chosen = drafting.stored(row).clauses if governed_by is None else governed_by
    row = _with(row, figures)
    drafting.write(drafting.assemble(row, milestones=milestones, clauses=chosen))
    after = drafting.figures(row)
    events.record(
        engagement=engagement,
        verb="contract.revised",
        summary=f"The draft of version {row.number} was revised.",
        actor=by,
        changes={key: [before[key], after[key]] for key in after if before[key] != after[key]},
    )
    return row


def preview(
    *,
    engagement: Engagement,
    milestones: Sequence[MilestoneDraft],
    by: User,
    governed_by: Sequence[Clause] | None = None,
    **figures: Unpack[Figures],
) -> dict[str, Any]:
    """The terms that offering these now would seal; nothing is written.

    Refused where drafting them would be.
    """
    opened = engagement.contracts.filter(state=State.DRAFT).first()
    contract = opened or next_version(engagement, by)
    contract.engagement = engagement
    chosen = clauses.newest() if governed_by is None else governed_by
    sheet = drafting.assemble(_with(contract, figures), milestones=milestones, clauses=chosen)
    checked.valid(contract)
    return terms_.compose(sheet)


@transaction.atomic
def discard(*, contract: ContractVersion, by: User) -> None:
    """Throw a draft away: it was never put before anybody."""
    row, engagement = _locked(contract)
    lifecycle.require_consultant(by)
    if row.state != State.DRAFT:
        raise Refused(f"Version {row.number} is sealed and stays.")
    if row.runs.exists():
        raise Refused(f"Trial runs were asked for under version {row.number}: revise it instead.")
    events.record(
        engagement=engagement,
        verb="contract.discarded",
        summary=f"The draft of version {row.number} was discarded.",
        actor=by,
        changes=drafting.figures(row),
    )
    row.milestones.all().delete()
    row.delete()


@transaction.atomic
def offer(*, contract: ContractVersion, by: User) -> ContractVersion:
    """Seal the draft and offer it to the customer. From here on nothing in it changes."""
    row, engagement = _locked(contract)
    lifecycle.require_consultant(by)
    if row.state == State.OFFERED:
        return row
    if row.state != State.DRAFT:
        raise Refused(f"Version {row.number} was offered before: draft another.")
    stage = Stage.ACTIVE if row.is_amendment else Stage.AUDITED
    lifecycle.require_stage(engagement, stage, to="for its contract to be offered")
    sheet = drafting.stored(row)
    drafting.check(sheet)
    _require_somebody_who_signs(row)
    if row.valid_until and row.valid_until < timezone.localdate():
        raise Refused(f"The offer would be valid until {row.valid_until}: that day has passed.")
    row.canonical, row.digest = terms_.seal(terms_.compose(sheet))
    row.state, row.sealed_at = State.OFFERED, timezone.now()
    checked.save(row)
    moved = {} if row.is_amendment else lifecycle.move(engagement, Stage.OFFERED)
    events.record(
        engagement=engagement,
        verb="contract.offered",
        summary=f"Version {row.number} of the contract was sealed and offered.",
        actor=by,
        changes={**moved, "digest": row.digest},
        for_customer=True,
    )
    dispatch.issue_document("contract", f"contract:{row.pk}")
    return row


@transaction.atomic
def note_viewed(*, contract: ContractVersion, by: User) -> None:
    """Note that somebody of the customer has read an offer, the first time they do."""
    if contract.state != State.OFFERED or by.is_of_the_house:
        return
    seen = {"verb": "contract.viewed", "actor": by, "changes__version": contract.number}
    if contract.engagement.events.filter(**seen).exists():
        return
    row, engagement = _locked(contract)
    if row.state != State.OFFERED or engagement.events.filter(**seen).exists():
        return
    events.record(
        engagement=engagement,
        verb="contract.viewed",
        summary=f"{by} has read version {row.number} of the contract.",
        actor=by,
        changes={"version": row.number, "digest": row.digest},
        for_customer=True,
    )


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


@transaction.atomic
def expire(*, contract: ContractVersion) -> ContractVersion:
    """End an offer whose time is over: its last day has passed and the customer has not accepted
    it, or it would amend a contract that has come to its verdict."""
    row, engagement = _locked(contract)
    if row.state == State.EXPIRED:
        return row
    why = _why_over(row, engagement)
    if why is None:
        raise Refused(f"Version {row.number} may still be accepted.")
    return _take_back(row, engagement, State.EXPIRED, why, None, None)


def expiring() -> list[ContractVersion]:
    """The offers that `expire` would end now."""
    late = Q(valid_until__lt=timezone.localdate()) & ~Q(acceptances__party=Party.CUSTOMER)
    decided = Q(amends__isnull=False) & ~Q(engagement__stage=Stage.ACTIVE)
    offered = ContractVersion.objects.filter(late | decided, state=State.OFFERED)
    return list(offered.defer("canonical").distinct())


def _why_over(contract: ContractVersion, engagement: Engagement) -> str | None:
    if contract.state != State.OFFERED:
        return None
    if contract.is_amendment and engagement.stage != Stage.ACTIVE:
        return "the contract that it would amend has been decided."
    last = contract.valid_until
    is_late = last is not None and last < timezone.localdate()
    if is_late and not contract.acceptances.filter(party=Party.CUSTOMER).exists():
        return f"it was valid until {last}."
    return None


def _take_back(
    contract: ContractVersion,
    engagement: Engagement,
    state: ContractVersion.State,
    reason: str,
    by: User | None,
    address: str | None,
) -> ContractVersion:
    if contract.state != State.OFFERED:
        raise Refused(f"Version {contract.number} of the contract is not on offer.")
    why = checked.text(reason, noun="The reason")
    moved = {} if contract.is_amendment else lifecycle.move(engagement, Stage.AUDITED)
    contract.state = state
    contract.save(update_fields=["state"])
    was = "has expired" if state == State.EXPIRED else f"was {state.label.lower()}"
    events.record(
        engagement=engagement,
        verb=f"contract.{state.value}",
        summary=f"Version {contract.number} of the contract {was}: {why}",
        actor=by,
        address=address,
        changes={**moved, "reason": why},
        for_customer=True,
    )
    return contract


def _require_somebody_who_signs(contract: ContractVersion) -> None:
    customer = contract.engagement.customer
    who = terms_.signatories_of(customer)
    if not who:
        raise Refused(f"Nobody may sign for {customer} yet: name a signatory first.")
    if contract.signatory is not None and contract.signatory not in who:
        raise Refused(f"{contract.signatory} may not sign for {customer}.")


def _with(contract: ContractVersion, figures: Figures) -> ContractVersion:
    for name, value in figures.items():
        setattr(contract, name, value)
    return contract


def _locked(contract: ContractVersion) -> tuple[ContractVersion, Engagement]:
    """The contract read again under its engagement's lock."""
    engagement = lifecycle.locked(contract.engagement_id)
    row = ContractVersion.objects.select_related("benchmark", "amends", "signatory").get(
        pk=contract.pk
    )
    row.engagement = engagement
    return row, engagement
