"""Release milestones once their condition holds, and accept the handover."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from engagements import access
from engagements.common.money import format_money
from engagements.contracts import versions
from engagements.contracts.milestones.conditions import releasable
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people.models import User

RUNNING = (Stage.ACTIVE, Stage.MET)


def release(*, contract: ContractVersion, by: User | None = None) -> list[Milestone]:
    """Release the pending milestones whose condition holds, under the engagement's lock.

    Returns those released now: none the second time.
    """
    released = list(contract.milestones.filter(releasable()))
    for milestone in released:
        milestone.state = Milestone.State.RELEASED
        milestone.released_at = timezone.now()
        milestone.save(update_fields=["state", "released_at"])
        events.record(
            engagement=contract.engagement,
            verb="milestone.released",
            summary=f"Milestone “{milestone.title}” was released: "
            f"{format_money(milestone.amount, contract.currency)} net.",
            actor=by,
            changes={"milestone": milestone.pk, "state": ["pending", "released"]},
            for_customer=True,
        )
    return released


def due() -> list[ContractVersion]:
    """Contracts of running engagements with milestones that `release_due` would release."""
    milestones = Milestone.objects.filter(
        releasable(), contract_version__engagement__stage__in=RUNNING
    )
    return list(ContractVersion.objects.filter(pk__in=milestones.values("contract_version")))


@transaction.atomic
def release_due(*, contract: ContractVersion) -> list[Milestone]:
    """Release a contract's milestones whose condition holds, checked again under the lock."""
    engagement = stages.locked(contract.engagement_id)
    if engagement.stage not in RUNNING:
        return []
    row = ContractVersion.objects.get(pk=contract.pk)
    row.engagement = engagement
    return release(contract=row)


@transaction.atomic
def accept_handover(*, engagement: Engagement, by: User, address: str | None = None) -> Engagement:
    """Accept the handover, for the customer; its milestones are released. Idempotent."""
    row = stages.locked(engagement.pk)
    access.require_signatory(row, by)
    stages.require_stage(row, Stage.MET, Stage.CLOSED, to="for its handover to be accepted")
    contract = versions.contract_in_force(row)
    assert contract is not None  # only a contract in force is met
    contract.engagement = row
    log = row.events.filter(verb__in=("engagement.met", "handover.accepted"))
    if log.order_by("-position").values_list("verb", flat=True).first() == "handover.accepted":
        return row
    summary = f"{by} accepted the handover for {row.customer}."
    accept(contract, summary=summary, by=by, address=address)
    return row


def accept(
    contract: ContractVersion, *, summary: str, by: User | None = None, address: str | None = None
) -> None:
    """Record the acceptance of the handover and release its milestones, under the lock."""
    events.record(
        engagement=contract.engagement,
        verb="handover.accepted",
        summary=summary,
        actor=by,
        address=address,
        for_customer=True,
    )
    release(contract=contract, by=by)
