"""Accept sealed terms by their digest; both acceptances put a version in force."""

from __future__ import annotations

import unicodedata
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from engagements import access
from engagements.audit import postings
from engagements.audit.models import Audit
from engagements.common import validation
from engagements.common.client_ip import current_address
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.common.queue import enqueue
from engagements.common.text import strip_invisible
from engagements.contracts import mails, signatories, versions
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.milestones.services import release
from engagements.contracts.models import ContractVersion, Party
from engagements.contracts.signatories import named_to_accept
from engagements.contracts.signing_models import Acceptance
from engagements.contracts.terms import released_amount
from engagements.contracts.time_box import services as time_box
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people.models import User

# What both parties agree to when they sign.
CONSENT = "I have read this contract and sign it electronically. My typed name is my signature."
EXCLUSION_CONSENT = (
    "I accept that {library} is not the baseline, although the audit found that it fits: {reason}"
)
USER_AGENT_LENGTH = 400


@transaction.atomic
def accept(
    *,
    contract: ContractVersion,
    party: str,
    typed_name: str,
    digest: str,
    by: User,
    accepts_exclusion: bool = False,
    address: str | None = None,
    user_agent: str = "",
    signed_in_at: datetime | None = None,
    second_factor_at: datetime | None = None,
) -> ContractVersion:
    """Accept the sealed terms for one party, in either order.

    `digest` is that of the terms shown to `by`, and has to be the sealed one; `typed_name` has to
    be the name of the account. The customer accepts an excluded baseline with
    `accepts_exclusion`. `address` defaults to that of the current request; `signed_in_at`
    and `second_factor_at` are the session's last sign-in and second factor. The second
    acceptance puts the version in force: the engagement becomes active, the time-box starts, and
    milestones due on signature are released. An amendment replaces the version it amends.
    """
    engagement = stages.locked(contract.engagement_id)
    row = ContractVersion.objects.select_related("amends", "signatory").get(pk=contract.pk)
    row.engagement = engagement
    _require_right(engagement, party, by)
    if digest != row.digest or not row.digest:
        raise ApplicationError(
            "These are not the sealed terms. Open the contract again.",
            code="acceptance.other_digest",
        )
    if row.acceptances.filter(party=party).exists():
        return row
    if row.state != ContractVersion.State.OFFERED:
        raise ApplicationError(
            f"Version {row.number} of the contract is not on offer.", code="offer.not_open"
        )
    if first := signatories.waits_for(row, Party(party)):
        raise ApplicationError(
            f"{first.label} signs this contract first.", code="acceptance.out_of_order"
        )
    if party == Party.CUSTOMER:
        _require_open_to(by, row)
    acceptance = Acceptance(
        contract_version=row, party=party, user=by, digest=digest, accepted_at=timezone.now()
    )
    acceptance.typed_name = signature(typed_name, by)
    acceptance.address, acceptance.signed_in_at = address or current_address(), signed_in_at
    acceptance.user_agent = strip_invisible(user_agent)[:USER_AGENT_LENGTH]
    acceptance.consent, acceptance.second_factor_at = CONSENT, second_factor_at
    if party == Party.CUSTOMER and row.excluded_library:
        _require_exclusion(accepts_exclusion)
        acceptance.exclusion_consent = exclusion_consent(row)
    validation.save_validated(acceptance)
    is_in_force = row.acceptances.count() == len(Party)
    is_first = is_in_force and not row.is_amendment
    _record(engagement, acceptance, stages.move(engagement, Stage.ACTIVE) if is_first else {})
    if is_in_force:
        _activate(row)
    elif party == row.signing_order == Party.CONSULTANCY:
        mails.write_turn(contract=row)
    return row


def _require_open_to(by: User, contract: ContractVersion) -> None:
    """Check that the offer has not expired and that `by` may accept it."""
    last = contract.valid_until
    if last is not None and timezone.localdate() > last:
        raise ApplicationError(
            f"This offer expired on {in_words(last)}. Ask for another.", code="offer.expired"
        )
    if not signatories.may_accept(by, contract):
        named = named_to_accept(contract)
        raise ApplicationError(
            f"Only {named} may accept these terms for the customer.",
            code="acceptance.other_signatory",
        )


def exclusion_consent(contract: ContractVersion) -> str:
    """The sentence by which the customer accepts the excluded baseline; empty without one."""
    if not contract.excluded_library:
        return ""
    return EXCLUSION_CONSENT.format(
        library=contract.excluded_library, reason=contract.exclusion_reason
    )


def _require_exclusion(is_accepted: bool) -> None:
    if not is_accepted:
        raise ApplicationError(
            "Tick the box for the excluded baseline to sign the contract.",
            code="acceptance.exclusion",
        )


def _record(engagement: Engagement, acceptance: Acceptance, changes: dict[str, list[str]]) -> None:
    name, number = acceptance.typed_name, acceptance.contract_version.number
    is_customer = acceptance.party == Party.CUSTOMER
    party = engagement.customer if is_customer else "the consultancy"
    facts = {"party": acceptance.party, "typed_name": name, "digest": acceptance.digest}
    if acceptance.exclusion_consent:
        facts["exclusion_consent"] = acceptance.exclusion_consent
    events.record(
        engagement=engagement,
        verb="contract.accepted",
        summary=f"{name} accepted version {number} of the contract for {party}.",
        actor=acceptance.user,
        address=acceptance.address,
        changes={**facts, **changes},
        for_customer=True,
    )


def signature(typed_name: str, by: User) -> str:
    """The typed name, which has to be that of the account of `by`."""
    name = validation.text(typed_name, noun="The typed name")
    if _plain(name) != _plain(by.name):
        raise ApplicationError(
            f"Type your name as in your account: {by.name}.", code="acceptance.other_name"
        )
    return name


def _plain(name: str) -> str:
    """A name for comparison, without the differences of case and spaces."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _require_right(engagement: Engagement, party: str, by: User) -> None:
    if party not in Party.values:
        raise ApplicationError(
            f"{party!r} is not a party to this contract.", code="acceptance.no_party"
        )
    if party == Party.CUSTOMER:
        access.require_signatory(engagement, by)
    else:
        access.require_consultant(by)


def _activate(contract: ContractVersion) -> None:
    """Put a version in force: start or move the time-box and release milestones."""
    if contract.is_amendment:
        _replace(contract)
    else:
        contract.state = ContractVersion.State.ACCEPTED
        contract.save(update_fields=["state"])
        accepted_on = timezone.localdate(contract.acceptances.latest("accepted_at").accepted_at)
        time_box.start(contract=contract, starts_on=max(contract.starts_on, accepted_on))
        audit = Audit.objects.get(engagement=contract.engagement_id)
        postings.audit_agreed(audit, cost=contract.audit_cost, dated_on=timezone.localdate())
    release(contract=contract)
    enqueue("issue_document", "contract", f"contract:{contract.pk}:accepted")
    enqueue("issue_document", "completion_certificate", f"contract:{contract.pk}")


def _replace(contract: ContractVersion) -> None:
    amended = contract.amends
    assert amended is not None  # is_amendment
    _require_unchanged(contract, amended)
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


def _require_unchanged(contract: ContractVersion, amended: ContractVersion) -> None:
    engagement = contract.engagement
    stages.require_stage(engagement, Stage.ACTIVE, to="for its contract to be amended")
    if amended.state != ContractVersion.State.ACCEPTED:
        raise ApplicationError(
            f"Version {amended.number}, which this one amends, is not in force.",
            code="amendment.not_in_force",
        )
    if versions.open_acceptance_run(engagement):
        raise ApplicationError(
            f"Wait for the verdict of the acceptance run under version {amended.number}.",
            code="amendment.run_open",
        )
    if released_amount(contract) != contract.previously_released:
        raise ApplicationError(
            "A milestone was released after this amendment was sealed. Withdraw it and draft it "
            "again.",
            code="amendment.milestone_released",
        )
