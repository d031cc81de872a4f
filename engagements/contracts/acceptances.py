"""Each party's act of accepting exactly one digest, and what the second one sets going."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from engagements import access
from engagements.common import validation
from engagements.common.client_ip import current_address
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.contracts import activation, signatories
from engagements.contracts.models import Acceptance, ContractVersion, Party
from engagements.contracts.signatories import named_to_accept
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people.models import User


@transaction.atomic
def accept(
    *,
    contract: ContractVersion,
    party: str,
    typed_name: str,
    digest: str,
    by: User,
    address: str | None = None,
    signed_in_at: datetime | None = None,
) -> ContractVersion:
    """Accept the sealed terms for one party, in either order.

    `digest` is that of the terms that `by` was shown: it has to be the sealed one. `address` is
    that of the request being answered unless another is given, `signed_in_at` when `by` last
    proved who they are. The second acceptance puts the contract in force: the engagement is
    active, the time-box is set, and the milestones that waited for the signature are released;
    an amendment takes the place of what it amends.
    """
    engagement = stages.locked(contract.engagement_id)
    row = ContractVersion.objects.select_related("amends", "signatory").get(pk=contract.pk)
    row.engagement = engagement
    _require_right(engagement, party, by)
    if digest != row.digest or not row.digest:
        raise ApplicationError(
            "These are not the terms that were sealed: open the contract again.",
            code="contracts.todo",
        )
    if row.acceptances.filter(party=party).exists():
        return row
    if row.state != ContractVersion.State.OFFERED:
        raise ApplicationError(
            f"Version {row.number} of the contract is not on offer.", code="contracts.todo"
        )
    if party == Party.CUSTOMER:
        _require_open_to(by, row)
    acceptance = Acceptance(
        contract_version=row, party=party, user=by, digest=digest, accepted_at=timezone.now()
    )
    acceptance.typed_name = _signature(typed_name)
    acceptance.address, acceptance.signed_in_at = address or current_address(), signed_in_at
    validation.save_validated(acceptance)
    _go_on(row, acceptance)
    return row


def _go_on(contract: ContractVersion, acceptance: Acceptance) -> None:
    """Tell of an acceptance; the second one puts the contract in force."""
    engagement = contract.engagement
    is_in_force = contract.acceptances.count() == len(Party)
    is_first = is_in_force and not contract.is_amendment
    _tell(engagement, acceptance, stages.move(engagement, Stage.ACTIVE) if is_first else {})
    if is_in_force:
        activation.activate(contract)


def _require_open_to(by: User, contract: ContractVersion) -> None:
    """Refuse an offer whose time is over, and whom it does not name."""
    last = contract.valid_until
    if last is not None and timezone.localdate() > last:
        raise ApplicationError(
            f"The offer was valid until {in_words(last)}: ask for another.", code="contracts.todo"
        )
    if not signatories.may_accept(by, contract):
        named = named_to_accept(contract)
        raise ApplicationError(
            f"These terms name {named}, who alone signs for the customer.", code="contracts.todo"
        )


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


def _signature(typed_name: str) -> str:
    name = validation.text(typed_name, noun="The typed name")
    if not any(character.isalpha() for character in name):
        raise ApplicationError("Type your full name: it is the signature.", code="contracts.todo")
    return name


def _require_right(engagement: Engagement, party: str, by: User) -> None:
    if party not in Party.values:
        raise ApplicationError(f"{party!r} is no party of this contract.", code="contracts.todo")
    if party == Party.CUSTOMER:
        access.require_signatory(engagement, by)
    else:
        access.require_consultant(by)
