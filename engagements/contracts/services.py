"""Draft, revise, preview and discard the terms of a contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Max

from engagements import access
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.contracts import drafting
from engagements.contracts import terms as contract_terms
from engagements.contracts.clauses import services as clauses
from engagements.contracts.drafting import MilestoneDraft
from engagements.contracts.models import ContractVersion
from engagements.contracts.offers import locked, require_version
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people.models import User

State = ContractVersion.State


@transaction.atomic
def draft(
    *,
    engagement: Engagement,
    milestones: Sequence[MilestoneDraft],
    by: User,
    **terms: Any,
) -> ContractVersion:
    """Draft the next version of a contract.

    `terms` are named as in fields.FIELDS. The milestones add up to the fee exactly. The
    newest number of every clause applies.
    """
    row = stages.locked(engagement.pk)
    access.require_consultant(by)
    stages.require_stage(row, Stage.AUDITED, to="for a contract to be drafted")
    contract = drafting.set_terms(next_version(row, by), terms)
    draft = drafting.assemble(contract, milestones=milestones, clauses=clauses.newest())
    drafting.write(draft)
    contract_terms.compose(draft)  # declines clauses that do not fit these terms
    events.record(
        engagement=row,
        verb="contract.drafted",
        summary=f"Version {contract.number} of the contract was drafted.",
        actor=by,
        changes=drafting.logged_terms(contract),
    )
    return contract


def next_version(engagement: Engagement, by: User) -> ContractVersion:
    """The unsaved row of the next version, under the engagement's lock.

    Raises ApplicationError while another version is open.
    """
    if engagement.contracts.filter(state__in=[State.DRAFT, State.OFFERED]).exists():
        raise ApplicationError(
            "Another version is in draft or on offer.", code="contract.version_open"
        )
    last = engagement.contracts.aggregate(last=Max("number"))["last"] or 0
    return ContractVersion(engagement=engagement, number=last + 1, drafted_by=by)


@transaction.atomic
def revise(
    *,
    contract: ContractVersion,
    milestones: Sequence[MilestoneDraft],
    by: User,
    expected_version: str | None = None,
    **terms: Any,
) -> ContractVersion:
    """Revise a draft. Sealed terms never change: withdraw the offer and draft another version.

    The newest number of every clause applies. `expected_version` is the `digest_of_draft` that
    `by` started from; raises ApplicationError when the draft has changed since.
    """
    row, engagement = locked(contract)
    access.require_consultant(by)
    stages.require_stage(engagement, Stage.AUDITED, to="for a draft to change")
    if row.state != State.DRAFT:
        raise ApplicationError(
            f"Version {row.number} is sealed. Draft another version.", code="contract.sealed"
        )
    require_version(row, expected_version)
    before = drafting.logged_terms(row)
    row = drafting.set_terms(row, terms)
    draft = drafting.assemble(row, milestones=milestones, clauses=clauses.newest())
    drafting.write(draft)
    contract_terms.compose(draft)
    after = drafting.logged_terms(row)
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
    **terms: Any,
) -> dict[str, Any]:
    """The terms that offering this draft now would seal. Nothing is written.

    Raises ApplicationError where drafting would.
    """
    opened = engagement.contracts.filter(state=State.DRAFT).first()
    contract = drafting.set_terms(opened or next_version(engagement, by), terms)
    contract.engagement = engagement
    assembled = drafting.assemble(contract, milestones=milestones, clauses=clauses.newest())
    validation.full_clean(contract)
    return contract_terms.compose(assembled)


@transaction.atomic
def discard(*, contract: ContractVersion, by: User, expected_version: str | None = None) -> None:
    """Delete a draft, which was never offered. `expected_version` as for `revise`."""
    row, engagement = locked(contract)
    access.require_consultant(by)
    if row.state != State.DRAFT:
        raise ApplicationError(
            f"Version {row.number} is sealed and cannot be discarded.", code="contract.sealed"
        )
    require_version(row, expected_version)
    if row.runs.exists():
        raise ApplicationError(
            f"Version {row.number} has trial runs. Revise it instead.",
            code="contract.has_trial_runs",
        )
    events.record(
        engagement=engagement,
        verb="contract.discarded",
        summary=f"The draft of version {row.number} was discarded.",
        actor=by,
        changes=drafting.logged_terms(row),
    )
    row.milestones.all().delete()
    row.delete()
