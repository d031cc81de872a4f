"""Delegate the customer's signature to another of its signatories."""

from __future__ import annotations

from django.db import transaction

from engagements import access
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.contracts import mails, offers
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.signatories import named_to_accept
from engagements.contracts.signing_models import Delegation
from engagements.event_log import events
from engagements.people.models import User
from engagements.people.signatories import signatories_of


@transaction.atomic
def delegate(*, contract: ContractVersion, to: User, by: User) -> Delegation:
    """Delegate the signature of an open offer from `by`, its sole signatory, to `to`.

    From then on only `to` may sign this version; later versions are signed as before. Raises
    ApplicationError unless `by` may sign alone and `to` is another signatory of the customer.
    """
    row, engagement = offers.locked(contract)
    access.require_signatory(engagement, by)
    if row.state != ContractVersion.State.OFFERED:
        raise ApplicationError(
            f"Version {row.number} of the contract is not on offer.", code="offer.not_open"
        )
    if row.acceptances.filter(party=Party.CUSTOMER).exists():
        raise ApplicationError(
            f"{engagement.customer} has accepted these terms.", code="offer.accepted"
        )
    if named_to_accept(row) != by:
        raise ApplicationError(
            "Only the sole signatory of this version may delegate its signature.",
            code="delegation.not_the_signatory",
        )
    if to == by or to not in signatories_of(engagement.customer):
        raise ApplicationError(
            f"Choose another signatory of {engagement.customer}.",
            code="delegation.not_a_signatory",
        )
    delegation = Delegation(contract_version=row, delegator=by, delegate=to)
    validation.save_validated(delegation)
    events.record(
        engagement=engagement,
        verb="contract.delegated",
        summary=f"{by} delegated the signature of version {row.number} of the contract to {to}.",
        actor=by,
        changes={"version": row.number, "delegate": to.name, "digest": row.digest},
        for_customer=True,
    )
    mails.write_delegation(delegation=delegation)
    return delegation
