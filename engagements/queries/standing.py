"""Where an engagement stands: what is next, and who must do it."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple, cast

from django.db.models import Prefetch, QuerySet

from benchmarks.models import Verdict
from engagements.models import (
    Audit,
    ContractVersion,
    Engagement,
    EngagementRun,
    Milestone,
    Party,
    ReleaseCondition,
    Settlement,
    Stage,
)
from engagements.queries.amounts import outstanding
from engagements.queries.timeboxes import time_box_progress


class Who(StrEnum):
    """Who has to do what is next."""

    CONSULTANT = "Consultant"
    CUSTOMER = "Customer"
    FINANCE = "Finance"
    REFEREE = "Referee"
    NOBODY = "Nobody"


class NextStep(NamedTuple):
    """What is next in an engagement, as an order, and who must do it."""

    text: str
    who: Who


DONE = NextStep("Nothing is left to do", Who.NOBODY)
_LOADED = "acceptance_runs"


def with_standing(engagements: QuerySet[Engagement]) -> QuerySet[Engagement]:
    """`engagements` with everything that `next_step` reads, in a fixed number of queries."""
    acceptance_runs = (
        EngagementRun.objects.filter(purpose=EngagementRun.Purpose.ACCEPTANCE)
        .select_related("run", "run__record")
        .order_by("-pk")
    )
    return engagements.select_related("customer", "lead", "audit", "time_box").prefetch_related(
        "audit__findings",
        Prefetch("contracts", ContractVersion.objects.defer("canonical").order_by("-number")),
        "contracts__acceptances",
        "contracts__milestones__payments",
        "contracts__settlements",
        Prefetch("runs", acceptance_runs, to_attr=_LOADED),
    )


def next_step(engagement: Engagement) -> NextStep:
    """What is next. An engagement from `with_standing` costs no further query."""
    if _LOADED not in engagement.__dict__:
        engagement = with_standing(Engagement.objects.filter(pk=engagement.pk)).get()
    ask = _BY_STAGE.get(Stage(engagement.stage))
    return ask(engagement) if ask else DONE


def _scoping(engagement: Engagement) -> NextStep:
    return NextStep("Start the audit", Who.CONSULTANT)


def _auditing(engagement: Engagement) -> NextStep:
    audit: Audit = engagement.audit
    missing = sum(finding.found_at is None for finding in audit.findings.all())
    if missing:
        noun = "check" if missing == 1 else "checks"
        return NextStep(f"Answer {missing} more {noun}", Who.CONSULTANT)
    return NextStep("Deliver the audit", Who.CONSULTANT)


def _audited(engagement: Engagement) -> NextStep:
    newest = next(iter(engagement.contracts.all()), None)
    if newest is None:
        return NextStep("Draft the contract", Who.CONSULTANT)
    if newest.state == ContractVersion.State.DRAFT:
        return NextStep(f"Offer version {newest.number} of the contract", Who.CONSULTANT)
    return NextStep(f"Draft version {newest.number + 1} of the contract", Who.CONSULTANT)


def _offered(engagement: Engagement) -> NextStep:
    contract = _contract(engagement, ContractVersion.State.OFFERED)
    accepted = {acceptance.party for acceptance in contract.acceptances.all()}
    text = f"Accept version {contract.number} of the contract"
    if Party.CUSTOMER not in accepted:
        return NextStep(text, Who.CUSTOMER)
    return NextStep(f"{text} for the consultancy", Who.CONSULTANT)


def _active(engagement: Engagement) -> NextStep:
    runs = cast("list[EngagementRun]", engagement.__dict__[_LOADED])
    last = runs[0] if runs else None
    if last and last.concluded_at is None:
        return NextStep("Finish the acceptance run", Who.REFEREE)
    box = time_box_progress(engagement.time_box)
    if box.state == "over":
        return NextStep("Propose the settlement: the time-box is over", Who.CONSULTANT)
    if box.state == "ahead":
        return NextStep(f"Start the work on {box.starts_on}", Who.CONSULTANT)
    if last:
        return NextStep(
            f"The last acceptance run {_outcome(last)}: request another by {box.ends_on}",
            Who.CONSULTANT,
        )
    return NextStep(f"Request the acceptance run by {box.ends_on}", Who.CONSULTANT)


def _outcome(run: EngagementRun) -> str:
    record = getattr(run.run, "record", None)
    if record is None:
        return "failed"
    return f"was {Verdict(record.verdict).label.lower()}"


def _met(engagement: Engagement) -> NextStep:
    milestones = list(_contract(engagement, ContractVersion.State.ACCEPTED).milestones.all())
    for milestone in milestones:
        if milestone.state == Milestone.State.RELEASED:
            return NextStep(f"Bill “{milestone.title}”", Who.FINANCE)
    for milestone in milestones:
        if (milestone.state, milestone.condition) == (
            Milestone.State.PENDING,
            ReleaseCondition.HANDOVER,
        ):
            return NextStep("Accept the handover", Who.CUSTOMER)
    for milestone in milestones:
        if outstanding(milestone) > 0:
            return NextStep(f"Pay “{milestone.title}”", Who.CUSTOMER)
    return NextStep("Close the engagement", Who.CONSULTANT)


_SETTLEMENT_STEPS = {
    Settlement.State.PROPOSED: "Approve the settlement",
    Settlement.State.APPROVED: "Pay the settlement",
    Settlement.State.PAYING: "Confirm that the settlement was paid",
    Settlement.State.FAILED: "Pay the settlement again: the transfer failed",
}


def _missed(engagement: Engagement) -> NextStep:
    contract = _contract(engagement, ContractVersion.State.ACCEPTED)
    for settlement in contract.settlements.all():
        if settlement.state == Settlement.State.PAID:
            return NextStep("Close the engagement", Who.CONSULTANT)
        if settlement.state != Settlement.State.VOIDED:
            return NextStep(_SETTLEMENT_STEPS[Settlement.State(settlement.state)], Who.FINANCE)
    return NextStep("Propose the settlement", Who.CONSULTANT)


def _contract(engagement: Engagement, state: ContractVersion.State) -> ContractVersion:
    return next(contract for contract in engagement.contracts.all() if contract.state == state)


_BY_STAGE: dict[Stage, Callable[[Engagement], NextStep]] = {
    Stage.SCOPING: _scoping,
    Stage.AUDITING: _auditing,
    Stage.AUDITED: _audited,
    Stage.OFFERED: _offered,
    Stage.ACTIVE: _active,
    Stage.MET: _met,
    Stage.MISSED: _missed,
}
