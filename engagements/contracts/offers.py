"""Offers: sealed and offered, viewed, declined, withdrawn, expired."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from engagements import access
from engagements.common import validation
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.common.queue import enqueue
from engagements.contracts import baselines, drafting
from engagements.contracts import terms as contract_terms
from engagements.contracts.models import ContractVersion, Party
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people.models import User
from engagements.people.signatories import signatories_of

State = ContractVersion.State
# How long a draft may wait for its offer beyond the day it starts on.
LATEST_START = timedelta(days=90)


@transaction.atomic
def offer(
    *, contract: ContractVersion, by: User, expected_version: str | None = None
) -> ContractVersion:
    """Seal a draft and offer it to the customer. Its terms never change afterwards.

    `expected_version` is the `digest_of_draft` that `by` was shown; raises ApplicationError when
    the draft has changed since.
    """
    row, engagement = locked(contract)
    access.require_consultant(by)
    if row.state == State.OFFERED:
        return row
    if row.state != State.DRAFT:
        raise ApplicationError(
            f"Version {row.number} is not a draft. Draft another version.",
            code="contract.not_a_draft",
        )
    stage = Stage.ACTIVE if row.is_amendment else Stage.AUDITED
    stages.require_stage(engagement, stage, to="for its contract to be offered")
    require_version(row, expected_version)
    draft = drafting.stored(row)
    drafting.check(draft)
    baselines.require(row)
    _require_signatory(row)
    if not row.is_amendment and row.starts_on < timezone.localdate() - LATEST_START:
        raise ApplicationError(
            f"The time-box would start on {in_words(row.starts_on)}, which is past. Choose a later "
            "day.",
            code="offer.starts_in_the_past",
        )
    if row.valid_until and row.valid_until < timezone.localdate():
        raise ApplicationError(
            f"Choose a later day than {in_words(row.valid_until)} for the end of the offer.",
            code="offer.expired",
        )
    row.canonical, row.digest = contract_terms.seal(contract_terms.compose(draft))
    row.state, row.sealed_at = State.OFFERED, timezone.now()
    validation.save_validated(row)
    moved = {} if row.is_amendment else stages.move(engagement, Stage.OFFERED)
    events.record(
        engagement=engagement,
        verb="contract.offered",
        summary=f"Version {row.number} of the contract was sealed and offered.",
        actor=by,
        changes={**moved, "digest": row.digest},
        for_customer=True,
    )
    enqueue("issue_document", "contract", f"contract:{row.pk}")
    return row


def digest_of_draft(contract: ContractVersion) -> str:
    """The digest that sealing a draft now would give it."""
    return contract_terms.seal(contract_terms.compose(drafting.stored(contract)))[1]


def require_version(draft: ContractVersion, expected_version: str | None) -> None:
    """Check that a draft has not changed since it was shown; None skips the check."""
    if expected_version is not None and expected_version != digest_of_draft(draft):
        raise ApplicationError(
            "This draft changed while you were working on it. Review it again; open it in another "
            "tab if you want to keep what you have entered here.",
            code="contract.changed",
        )


@transaction.atomic
def note_viewed(*, contract: ContractVersion, by: User) -> None:
    """Record the first time that a person of the customer views an offer."""
    if contract.state != State.OFFERED or by.is_staff_member:
        return
    viewed = {"verb": "contract.viewed", "actor": by, "changes__version": contract.number}
    if contract.engagement.events.filter(**viewed).exists():
        return
    row, engagement = locked(contract)
    if row.state != State.OFFERED or engagement.events.filter(**viewed).exists():
        return
    events.record(
        engagement=engagement,
        verb="contract.viewed",
        summary=f"{by} viewed version {row.number} of the contract.",
        actor=by,
        changes={"version": row.number, "digest": row.digest},
        for_customer=True,
    )


@transaction.atomic
def decline(
    *, contract: ContractVersion, reason: str, by: User, address: str | None = None
) -> ContractVersion:
    """Decline an offer, for the customer. Another version may be drafted."""
    row, engagement = locked(contract)
    access.require_signatory(engagement, by)
    if row.state == State.DECLINED:
        return row
    if row.acceptances.filter(party="customer").exists():
        raise ApplicationError(
            f"{engagement.customer} has accepted these terms.", code="offer.accepted"
        )
    return _end(row, engagement, State.DECLINED, reason, by, address)


@transaction.atomic
def withdraw(*, contract: ContractVersion, reason: str, by: User) -> ContractVersion:
    """Withdraw an offer, for the consultancy, until both parties have accepted it."""
    row, engagement = locked(contract)
    access.require_consultant(by)
    if row.state == State.WITHDRAWN:
        return row
    return _end(row, engagement, State.WITHDRAWN, reason, by, None)


@transaction.atomic
def expire(*, contract: ContractVersion) -> ContractVersion:
    """Expire an offer: its last day has passed without the customer's acceptance, or it would
    amend a contract that has been decided."""
    row, engagement = locked(contract)
    if row.state == State.EXPIRED:
        return row
    reason = _expiry_reason(row, engagement)
    if reason is None:
        raise ApplicationError(
            f"Version {row.number} may still be accepted.", code="offer.still_open"
        )
    return _end(row, engagement, State.EXPIRED, reason, None, None)


def expiring() -> list[ContractVersion]:
    """The offers that `expire` would end now."""
    late = Q(valid_until__lt=timezone.localdate()) & ~Q(acceptances__party=Party.CUSTOMER)
    decided = Q(amends__isnull=False) & ~Q(engagement__stage=Stage.ACTIVE)
    offered = ContractVersion.objects.filter(late | decided, state=State.OFFERED)
    return list(offered.defer("canonical").distinct())


def _expiry_reason(contract: ContractVersion, engagement: Engagement) -> str | None:
    if contract.state != State.OFFERED:
        return None
    if contract.is_amendment and engagement.stage != Stage.ACTIVE:
        return "the contract it amends has been decided."
    last = contract.valid_until
    if last is None or last >= timezone.localdate():
        return None
    if not contract.acceptances.filter(party=Party.CUSTOMER).exists():
        return f"it was valid until {in_words(last)}."
    return None


def _end(
    contract: ContractVersion,
    engagement: Engagement,
    state: ContractVersion.State,
    reason: str,
    by: User | None,
    address: str | None,
) -> ContractVersion:
    if contract.state != State.OFFERED:
        raise ApplicationError(
            f"Version {contract.number} of the contract is not on offer.", code="offer.not_open"
        )
    why = validation.text(reason, noun="The reason")
    moved = {} if contract.is_amendment else stages.move(engagement, Stage.AUDITED)
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


def _require_signatory(contract: ContractVersion) -> None:
    customer = contract.engagement.customer
    signatories = signatories_of(customer)
    if not signatories:
        raise ApplicationError(
            f"{customer} has no signatory. Give one of its people the right to sign.",
            code="offer.no_signatory",
        )
    if contract.signatory is not None and contract.signatory not in signatories:
        raise ApplicationError(
            f"{contract.signatory} may not sign for {customer}.", code="contract.not_a_signatory"
        )


def locked(contract: ContractVersion) -> tuple[ContractVersion, Engagement]:
    """The contract read again under its engagement's lock."""
    engagement = stages.locked(contract.engagement_id)
    row = ContractVersion.objects.select_related("benchmark", "amends", "signatory").get(
        pk=contract.pk
    )
    row.engagement = engagement
    return row, engagement
