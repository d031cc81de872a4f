"""The contract: drafted here, sealed by the offer, accepted by both sides or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from django.db import transaction
from django.db.models import Max

from engagements import access
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.contracts import drafting
from engagements.contracts import terms as terms_
from engagements.contracts.clauses import services as clauses
from engagements.contracts.clauses.models import Clause
from engagements.contracts.drafting import Figures, MilestoneDraft
from engagements.contracts.models import ContractVersion
from engagements.contracts.offers import (
    locked,
    require_as_read,
)
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
    governed_by: Sequence[Clause] | None = None,
    **figures: Unpack[Figures],
) -> ContractVersion:
    """Draft the next version of the terms. The milestones add up to the fee exactly.

    Without `governed_by` the newest number of every clause stands in it.
    """
    row = stages.locked(engagement.pk)
    access.require_consultant(by)
    stages.require_stage(row, Stage.AUDITED, to="for a contract to be drafted")
    contract = _with(next_version(row, by), figures)
    chosen = clauses.newest() if governed_by is None else governed_by
    drafting.write(drafting.assemble(contract, milestones=milestones, clauses=chosen))
    events.record(
        engagement=row,
        verb="contract.drafted",
        summary=f"Version {contract.number} of the contract was drafted.",
        actor=by,
        changes=drafting.figures(contract),
    )
    return contract


def next_version(engagement: Engagement, by: User) -> ContractVersion:
    """The row of the next version, not saved, under the engagement's lock.

    Refused while another is open.
    """
    if engagement.contracts.filter(state__in=[State.DRAFT, State.OFFERED]).exists():
        raise ApplicationError(
            "Another version is being drafted or on offer already.", code="contracts.todo"
        )
    last = engagement.contracts.aggregate(last=Max("number"))["last"] or 0
    return ContractVersion(engagement=engagement, number=last + 1, drafted_by=by)


@transaction.atomic
def revise(
    *,
    contract: ContractVersion,
    milestones: Sequence[MilestoneDraft],
    by: User,
    governed_by: Sequence[Clause] | None = None,
    read: str | None = None,
    **figures: Unpack[Figures],
) -> ContractVersion:
    """Rewrite a draft. Sealed terms are never changed: withdraw the offer and draft anew.

    Without `governed_by` the clauses that stand in it stay. `read` is the `digest_of_draft` that
    `by` started from: refused when it is another by now.
    """
    row, engagement = locked(contract)
    access.require_consultant(by)
    stages.require_stage(engagement, Stage.AUDITED, to="for a draft to change")
    if row.state != State.DRAFT:
        raise ApplicationError(
            f"Version {row.number} is sealed and is never changed: draft another.",
            code="contracts.todo",
        )
    require_as_read(row, read)
    before = drafting.figures(row)
    chosen = drafting.stored(row).clauses if governed_by is None else governed_by
    row = _with(row, figures)
    drafting.write(drafting.assemble(row, milestones=milestones, clauses=chosen))
    after = drafting.figures(row)
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
    governed_by: Sequence[Clause] | None = None,
    **figures: Unpack[Figures],
) -> dict[str, Any]:
    """The terms that offering these now would seal; nothing is written.

    Refused where drafting them would be.
    """
    opened = engagement.contracts.filter(state=State.DRAFT).first()
    contract = opened or next_version(engagement, by)
    contract.engagement = engagement
    chosen = clauses.newest() if governed_by is None else governed_by
    sheet = drafting.assemble(_with(contract, figures), milestones=milestones, clauses=chosen)
    validation.full_clean(contract)
    return terms_.compose(sheet)


@transaction.atomic
def discard(*, contract: ContractVersion, by: User, read: str | None = None) -> None:
    """Throw a draft away: it was never put before anybody. `read` as for `offer`."""
    row, engagement = locked(contract)
    access.require_consultant(by)
    if row.state != State.DRAFT:
        raise ApplicationError(f"Version {row.number} is sealed and stays.", code="contracts.todo")
    require_as_read(row, read)
    if row.runs.exists():
        raise ApplicationError(
            f"Trial runs were asked for under version {row.number}: revise it instead.",
            code="contracts.todo",
        )
    events.record(
        engagement=engagement,
        verb="contract.discarded",
        summary=f"The draft of version {row.number} was discarded.",
        actor=by,
        changes=drafting.figures(row),
    )
    row.milestones.all().delete()
    row.delete()


def _with(contract: ContractVersion, figures: Figures) -> ContractVersion:
    for name, value in figures.items():
        setattr(contract, name, value)
    return contract
