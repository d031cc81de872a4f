"""The offer: sealed, read, taken back by either side, or expired."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from engagements import access
from engagements.common import validation
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.common.queue import enqueue
from engagements.contracts import drafting
from engagements.contracts import terms as terms_
from engagements.contracts.models import ContractVersion, Party
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people.models import User
from engagements.people.signatories import signatories_of

State = ContractVersion.State


@transaction.atomic
def offer(*, contract: ContractVersion, by: User, read: str | None = None) -> ContractVersion:
    """Seal the draft and offer it to the customer. From here on nothing in it changes.

    `read` is the `digest_of_draft` that `by` was shown: refused when it is another by now.
    """
    row, engagement = locked(contract)
    access.require_consultant(by)
    if row.state == State.OFFERED:
        return row
    if row.state != State.DRAFT:
        raise ApplicationError(
            f"Version {row.number} was offered before: draft another.", code="contracts.todo"
        )
    stage = Stage.ACTIVE if row.is_amendment else Stage.AUDITED
    stages.require_stage(engagement, stage, to="for its contract to be offered")
    require_as_read(row, read)
    sheet = drafting.stored(row)
    drafting.check(sheet)
    _require_somebody_who_signs(row)
    if row.valid_until and row.valid_until < timezone.localdate():
        raise ApplicationError(
            f"The offer would be valid until {in_words(row.valid_until)}: that day has passed.",
            code="contracts.todo",
        )
    row.canonical, row.digest = terms_.seal(terms_.compose(sheet))
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
    """The digest that sealing a draft now would give it: another for every word that changes."""
    return terms_.seal(terms_.compose(drafting.stored(contract)))[1]


def require_as_read(draft: ContractVersion, read: str | None) -> None:
    """Refuse what is done to another draft than the one that was shown; None was not asked."""
    if read is not None and read != digest_of_draft(draft):
        raise ApplicationError(
            "Somebody has changed this draft since you opened it. Read what it says now, on "
            "another page where you have typed something here, and then do this again.",
            code="contracts.todo",
        )


@transaction.atomic
def note_viewed(*, contract: ContractVersion, by: User) -> None:
    """Note that somebody of the customer has read an offer, the first time they do."""
    if contract.state != State.OFFERED or by.is_staff_member:
        return
    seen = {"verb": "contract.viewed", "actor": by, "changes__version": contract.number}
    if contract.engagement.events.filter(**seen).exists():
        return
    row, engagement = locked(contract)
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
    row, engagement = locked(contract)
    access.require_signatory(engagement, by)
    if row.state == State.DECLINED:
        return row
    if row.acceptances.filter(party="customer").exists():
        raise ApplicationError(
            f"{engagement.customer} has accepted these terms already.", code="contracts.todo"
        )
    return _take_back(row, engagement, State.DECLINED, reason, by, address)


@transaction.atomic
def withdraw(*, contract: ContractVersion, reason: str, by: User) -> ContractVersion:
    """The consultancy takes its offer back, as long as not both sides have accepted it."""
    row, engagement = locked(contract)
    access.require_consultant(by)
    if row.state == State.WITHDRAWN:
        return row
    return _take_back(row, engagement, State.WITHDRAWN, reason, by, None)


@transaction.atomic
def expire(*, contract: ContractVersion) -> ContractVersion:
    """End an offer whose time is over: its last day has passed and the customer has not accepted
    it, or it would amend a contract that has come to its verdict."""
    row, engagement = locked(contract)
    if row.state == State.EXPIRED:
        return row
    why = _why_over(row, engagement)
    if why is None:
        raise ApplicationError(
            f"Version {row.number} may still be accepted.", code="contracts.todo"
        )
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
    if last is None or last >= timezone.localdate():
        return None
    if not contract.acceptances.filter(party=Party.CUSTOMER).exists():
        return f"it was valid until {in_words(last)}."
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
        raise ApplicationError(
            f"Version {contract.number} of the contract is not on offer.", code="contracts.todo"
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


def _require_somebody_who_signs(contract: ContractVersion) -> None:
    customer = contract.engagement.customer
    who = signatories_of(customer)
    if not who:
        raise ApplicationError(
            f"Nobody may sign for {customer} yet: name a signatory first.", code="contracts.todo"
        )
    if contract.signatory is not None and contract.signatory not in who:
        raise ApplicationError(
            f"{contract.signatory} may not sign for {customer}.", code="contracts.todo"
        )


def locked(contract: ContractVersion) -> tuple[ContractVersion, Engagement]:
    """The contract read again under its engagement's lock."""
    engagement = stages.locked(contract.engagement_id)
    row = ContractVersion.objects.select_related("benchmark", "amends", "signatory").get(
        pk=contract.pk
    )
    row.engagement = engagement
    return row, engagement
