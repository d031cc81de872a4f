"""What both acceptances of a version set going, under the engagement's lock."""

from __future__ import annotations

from decimal import Decimal

from django.utils import timezone

from engagements.errors import Refused
from engagements.models import Audit, ContractVersion, Milestone, ReleaseCondition, Stage
from engagements.services import dispatch, events, lifecycle, terms, time_box
from engagements.services.releases import release


def put(contract: ContractVersion) -> None:
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
    dispatch.issue_document("contract", f"contract:{contract.pk}:accepted")


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
    lifecycle.require_stage(engagement, Stage.ACTIVE, to="for its contract to be amended")
    if amended.state != ContractVersion.State.ACCEPTED:
        raise Refused(f"Version {amended.number}, which this one amends, is not in force.")
    if lifecycle.open_acceptance_run(engagement):
        raise Refused(
            f"An acceptance run is under way under version {amended.number}: its verdict comes "
            "first."
        )
    if released_before(contract) != contract.carried:
        raise Refused(
            "A milestone was released since this amendment was sealed: it is withdrawn and "
            "drafted anew."
        )
