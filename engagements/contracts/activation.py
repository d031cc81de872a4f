"""What both acceptances of a version set going, under the engagement's lock."""

from __future__ import annotations

from decimal import Decimal

from django.utils import timezone

from engagements.audit.models import Audit
from engagements.common.errors import ApplicationError
from engagements.common.queue import enqueue
from engagements.contracts import terms, versions
from engagements.contracts.milestones.models import Milestone, ReleaseCondition
from engagements.contracts.milestones.releases import release
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box import services as time_box
from engagements.engagement import stages
from engagements.engagement.models import Stage
from engagements.event_log import events


def activate(contract: ContractVersion) -> None:
    """Put an accepted version in force: the clock runs, and what waited for it is released."""
    if contract.is_amendment:
        _replace(contract)
    else:
        contract.state = ContractVersion.State.ACCEPTED
        contract.save(update_fields=["state"])
        accepted_on = timezone.localdate(contract.acceptances.latest("accepted_at").accepted_at)
        time_box.start(contract=contract, starts_on=max(contract.starts_on, accepted_on))
    release(contract=contract, condition=ReleaseCondition.SIGNED)
    delivered = Audit.objects.filter(engagement=contract.engagement, delivered_at__isnull=False)
    if delivered.exists():
        release(contract=contract, condition=ReleaseCondition.AUDIT_DELIVERED)
    enqueue("issue_document", "contract", f"contract:{contract.pk}:accepted")


def released_before(contract: ContractVersion) -> Decimal:
    """What earlier versions released of the fee and keep, net; nothing for a first contract."""
    return sum((row.amount for row in terms.released_before(contract)), Decimal(0))


def _replace(contract: ContractVersion) -> None:
    amended = contract.amends
    assert amended is not None  # is_amendment
    _require_as_it_was_amended(contract, amended)
    amended.milestones.filter(state=Milestone.State.PENDING).update(state=Milestone.State.VOID)
    amended.state = ContractVersion.State.SUPERSEDED
    amended.save(update_fields=["state"])
    contract.state = ContractVersion.State.ACCEPTED
    contract.save(update_fields=["state"])
    events.record(
        engagement=contract.engagement,
        verb="contract.amended",
        summary=f"Version {contract.number} is in force in place of version {amended.number}.",
        actor=None,
        changes={"version": [amended.number, contract.number], "digest": contract.digest},
        for_customer=True,
    )
    time_box.move(contract=contract)


def _require_as_it_was_amended(contract: ContractVersion, amended: ContractVersion) -> None:
    engagement = contract.engagement
    stages.require_stage(engagement, Stage.ACTIVE, to="for its contract to be amended")
    if amended.state != ContractVersion.State.ACCEPTED:
        raise ApplicationError(
            f"Version {amended.number}, which this one amends, is not in force.",
            code="contracts.todo",
        )
    if versions.open_acceptance_run(engagement):
        raise ApplicationError(
            f"An acceptance run is under way under version {amended.number}: its verdict comes "
            "first.",
            code="contracts.todo",
        )
    if released_before(contract) != contract.carried:
        raise ApplicationError(
            "A milestone was released since this amendment was sealed: it is withdrawn and "
            "drafted anew.",
            code="contracts.todo",
        )
