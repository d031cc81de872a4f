"""Each party's act of accepting exactly one digest, and what the second one sets going."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from engagements.errors import Refused
from engagements.models import (
    Acceptance,
    Audit,
    ContractVersion,
    Engagement,
    Party,
    ReleaseCondition,
    Stage,
    TimeBox,
    User,
)
from engagements.services import checked, dispatch, events, lifecycle
from engagements.services.releases import release


@transaction.atomic
def accept(
    *,
    contract: ContractVersion,
    party: str,
    typed_name: str,
    digest: str,
    by: User,
    address: str | None = None,
) -> ContractVersion:
    """Accept the sealed terms for one party, in either order.

    `digest` is that of the terms that `by` was shown: it has to be the sealed one. The second
    acceptance puts the contract in force: the engagement is active, the time-box is set, and
    the milestones that waited for the signature are released.
    """
    engagement = lifecycle.locked(contract.engagement_id)
    row = ContractVersion.objects.get(pk=contract.pk)
    row.engagement = engagement
    if party not in Party.values:
        raise Refused(f"{party!r} is no party of this contract.")
    _require_right(engagement, Party(party), by)
    if digest != row.digest or not row.digest:
        raise Refused("These are not the terms that were sealed: open the contract again.")
    if row.acceptances.filter(party=party).exists():
        return row
    if row.state != ContractVersion.State.OFFERED:
        raise Refused(f"Version {row.number} of the contract is not on offer.")
    acceptance = Acceptance(contract_version=row, party=party, user=by, digest=digest)
    acceptance.typed_name = checked.text(typed_name, noun="The typed name")
    acceptance.address = address
    checked.save(acceptance)
    is_in_force = row.acceptances.count() == len(Party)
    _tell(engagement, acceptance, lifecycle.move(engagement, Stage.ACTIVE) if is_in_force else {})
    if is_in_force:
        _put_in_force(row, engagement)
    return row


def _tell(engagement: Engagement, acceptance: Acceptance, changes: dict[str, list[str]]) -> None:
    name, number = acceptance.typed_name, acceptance.contract_version.number
    is_customer = acceptance.party == Party.CUSTOMER
    whom = engagement.customer if is_customer else "the consultancy"
    facts = {"party": acceptance.party, "typed_name": name, "digest": acceptance.digest}
    events.record(
        engagement=engagement,
        verb="contract.accepted",
        summary=f"{name} accepted version {number} of the contract for {whom}.",
        actor=acceptance.user,
        address=acceptance.address,
        changes={**facts, **changes},
        for_customer=True,
    )


def _require_right(engagement: Engagement, party: Party, by: User) -> None:
    if party == Party.CUSTOMER:
        lifecycle.require_signatory(engagement, by)
    else:
        lifecycle.require_consultant(by)


def _put_in_force(contract: ContractVersion, engagement: Engagement) -> None:
    contract.state = ContractVersion.State.ACCEPTED
    contract.save(update_fields=["state"])
    starts_on = max(contract.starts_on, timezone.localdate())
    # The last day counts: a week that starts on a Monday ends on the Sunday.
    ends_on = starts_on + timedelta(weeks=contract.weeks, days=-1)
    box = TimeBox(engagement=engagement, starts_on=starts_on, ends_on=ends_on)
    checked.save(box)
    events.record(
        engagement=engagement,
        verb="time_box.started",
        summary=f"The contract is in force. The time-box runs from {starts_on} to {ends_on}.",
        actor=None,
        changes={"starts_on": str(starts_on), "ends_on": str(ends_on)},
        for_customer=True,
    )
    release(contract=contract, condition=ReleaseCondition.SIGNED)
    if Audit.objects.filter(engagement=engagement, delivered_at__isnull=False).exists():
        release(contract=contract, condition=ReleaseCondition.AUDIT_DELIVERED)
    dispatch.issue_document("contract", f"contract:{contract.pk}:accepted")
