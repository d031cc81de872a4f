"""The stages of an engagement: which move may follow which, and who makes it.

Every service locks the engagement's row first, so everything that happens in one engagement
happens one after the other, and every precondition is checked under that lock. The same table
stands in the database as a trigger.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from django.db import transaction
from django.utils import timezone

from engagements import access
from engagements.errors import Refused
from engagements.models import (
    Audit,
    ContractVersion,
    Engagement,
    EngagementRun,
    Invoice,
    Milestone,
    PayBack,
    Payment,
    ReleaseCondition,
    Settlement,
    Stage,
    User,
)
from engagements.money import format_money
from engagements.queries.amounts import WITH_INVOICES, gross, outstanding, received
from engagements.queries.balances import open_invoices
from engagements.queries.overpayments import excess_of, overpaid_invoices
from engagements.queries.to_settle import came_in_since
from engagements.services import checked, events

MOVES: Mapping[Stage, frozenset[Stage]] = MappingProxyType(
    {
        Stage.SCOPING: frozenset({Stage.AUDITING, Stage.CANCELLED}),
        Stage.AUDITING: frozenset(
            {Stage.AUDITED, Stage.REDIRECTED, Stage.DECLINED, Stage.CANCELLED}
        ),
        Stage.AUDITED: frozenset({Stage.OFFERED, Stage.CANCELLED}),
        Stage.OFFERED: frozenset({Stage.ACTIVE, Stage.AUDITED, Stage.CANCELLED}),
        Stage.ACTIVE: frozenset({Stage.MET, Stage.MISSED, Stage.CANCELLED}),
        Stage.MET: frozenset({Stage.CLOSED}),
        Stage.MISSED: frozenset({Stage.CLOSED}),
        Stage.CLOSED: frozenset(),
        Stage.REDIRECTED: frozenset(),
        Stage.DECLINED: frozenset(),
        Stage.CANCELLED: frozenset(),
    }
)


def locked(engagement_id: int) -> Engagement:
    """The engagement with its row locked until the transaction ends."""
    return (
        Engagement.objects.select_for_update(of=("self",))
        .select_related("customer", "lead")
        .get(pk=engagement_id)
    )


def require_stage(engagement: Engagement, *stages: Stage, to: str) -> None:
    """Refuse unless the locked engagement is in one of `stages`; `to` says what for."""
    if engagement.stage not in stages:
        wanted = " or ".join(f"“{stage.label}”" for stage in stages)
        now = Stage(engagement.stage).label
        raise Refused(f"{engagement.reference} is in “{now}”; {to} it must be in {wanted}.")


def require_consultant(by: User) -> None:
    """Refuse whoever may not do a consultant's work."""
    if not access.is_consultant(by):
        raise Refused("Consultants do this.")


def require_signatory(engagement: Engagement, by: User) -> None:
    """Refuse whoever may not bind the engagement's customer."""
    if not access.may_sign(by, engagement.customer):
        raise Refused(f"Only a signatory of {engagement.customer} does this.")


def move(engagement: Engagement, to: Stage) -> dict[str, list[str]]:
    """Put a locked engagement into the stage `to`. Returns the change, for the event log."""
    before = Stage(engagement.stage)
    if to not in MOVES[before]:
        raise Refused(f"{engagement.reference} does not go from “{before.label}” to “{to.label}”.")
    engagement.stage = to
    engagement.stage_since = timezone.now()
    engagement.save(update_fields=["stage", "stage_since"])
    return {"stage": [before.value, to.value]}


@transaction.atomic
def cancel(*, engagement: Engagement, reason: str, by: User) -> Engagement:
    """End an engagement before its verdict. Refused once the customer has paid anything:
    then only a verdict or the end of the time-box says what goes back."""
    row = locked(engagement.pk)
    require_consultant(by)
    if row.stage == Stage.CANCELLED:
        return row
    why = checked.text(reason, noun="The reason for cancelling")
    if Payment.objects.filter(invoice__engagement=row).exists():
        raise Refused(
            f"{row.reference} has received money: it ends by its verdict, so that the "
            "settlement says what goes back."
        )
    if open_acceptance_run(row):
        raise Refused("An acceptance run is under way; cancel when it has ended.")
    changes = move(row, Stage.CANCELLED)
    row.contracts.filter(state=ContractVersion.State.OFFERED).update(
        state=ContractVersion.State.WITHDRAWN
    )
    _take_back_invoices(row, f"The engagement was cancelled: {why}")
    void_unearned_milestones(row)
    events.record(
        engagement=row,
        verb="engagement.cancelled",
        summary=f"The engagement was cancelled: {why}",
        actor=by,
        changes=changes | {"reason": why},
        for_customer=True,
    )
    return row


@transaction.atomic
def close(*, engagement: Engagement, by: User) -> Engagement:
    """End an engagement in which nothing is left to do or to pay."""
    row = locked(engagement.pk)
    if not access.is_of_the_house(by):
        raise Refused("The consultancy closes an engagement.")
    if row.stage == Stage.CLOSED:
        return row
    require_stage(row, Stage.MET, Stage.MISSED, to="to be closed")
    is_met = row.stage == Stage.MET
    open_matter = _open_after_met(row) if is_met else _open_after_missed(row)
    open_matter = open_matter or _going_back(row)
    if open_matter:
        raise Refused(open_matter)
    events.record(
        engagement=row,
        verb="engagement.closed",
        summary="The engagement was closed: nothing is left to do or to pay.",
        actor=by,
        changes=move(row, Stage.CLOSED),
        for_customer=True,
    )
    return row


def _take_back_invoices(engagement: Engagement, why: str) -> None:
    """Discard drafts and credit what was issued: nothing of it is asked for any more."""
    # Invoices are issued under this module's lock, so they are looked back at here.
    from engagements.ledger import postings
    from engagements.services import invoices

    engagement.invoices.filter(state=Invoice.State.DRAFT).delete()
    for invoice in engagement.invoices.filter(kind=Invoice.Kind.INVOICE).order_by("pk"):
        if invoices.credited_net(invoice) < invoice.net:
            invoices.credit(invoice=invoice, reason=why, by=None)
    for audit in Audit.objects.filter(engagement=engagement, delivered_at__isnull=False):
        postings.audit_waived(audit)


def open_acceptance_run(engagement: Engagement) -> EngagementRun | None:
    """The acceptance run whose verdict is still to come, if there is one."""
    return engagement.runs.filter(
        purpose=EngagementRun.Purpose.ACCEPTANCE, concluded_at__isnull=True
    ).first()


def contract_in_force(engagement: Engagement) -> ContractVersion | None:
    """The version that both parties accepted, if there is one."""
    return engagement.contracts.filter(state=ContractVersion.State.ACCEPTED).first()


def void_unearned_milestones(engagement: Engagement) -> list[Milestone]:
    """Void what the customer will not pay any more: every milestone not paid in full.

    What was billed keeps its dates and its payments, which still count.
    """
    milestones = (
        Milestone.objects.filter(
            contract_version__engagement=engagement, contract_version__sealed_at__isnull=False
        )
        .exclude(state=Milestone.State.VOID)
        .select_related("contract_version")
        .prefetch_related(*WITH_INVOICES)
    )
    doomed = [row for row in milestones if received(row) < gross(row)]
    for milestone in doomed:
        milestone.state = Milestone.State.VOID
        milestone.save(update_fields=["state"])
    return doomed


def _open_after_met(engagement: Engagement) -> str | None:
    # What was only ever offered keeps its milestones pending, and asks for nothing.
    agreed = (ContractVersion.State.ACCEPTED, ContractVersion.State.SUPERSEDED)
    milestones = Milestone.objects.filter(
        contract_version__engagement=engagement, contract_version__state__in=agreed
    )
    for milestone in milestones.select_related("contract_version").prefetch_related(*WITH_INVOICES):
        if milestone.state == Milestone.State.PENDING:
            condition = ReleaseCondition(milestone.condition).label.lower()
            return f"“{milestone.title}” waits for: {condition}."
        if milestone.state == Milestone.State.RELEASED:
            return f"“{milestone.title}” is not billed yet."
        if milestone.state == Milestone.State.BILLED and outstanding(milestone) > 0:
            return f"“{milestone.title}” is not paid in full yet."
    overpaid = overpaid_invoices().filter(engagement=engagement).first()
    if overpaid is not None:
        excess = format_money(excess_of(overpaid), overpaid.currency)
        return f"{overpaid.reference} has {excess} too much: move it or pay it back."
    return None


def _going_back(engagement: Engagement) -> str | None:
    on_their_way = PayBack.objects.filter(state__in=PayBack.OPEN)
    row = on_their_way.filter(invoice__engagement=engagement).first()
    if row is None:
        return None
    return f"What is too much of {row.invoice.reference} is still being paid back."


def _open_after_missed(engagement: Engagement) -> str | None:
    settlement = (
        Settlement.objects.filter(contract_version__engagement=engagement)
        .exclude(state=Settlement.State.VOIDED)
        .first()
    )
    if settlement is None:
        return "The settlement is not proposed yet."
    if settlement.state != Settlement.State.PAID:
        return "The settlement is not paid yet."
    if came_in_since(engagement):
        return "More came in since it was settled: send it back by a further settlement."
    return _open_of_the_audit(engagement)


def _open_of_the_audit(engagement: Engagement) -> str | None:
    """What a settlement keeps and nobody has paid: once closed, no payment could be recorded."""
    unbilled = Milestone.objects.filter(
        contract_version__engagement=engagement, state=Milestone.State.RELEASED
    ).first()
    if unbilled is not None:
        return f"“{unbilled.title}” is not billed yet."
    unpaid = open_invoices().filter(engagement=engagement).first()
    if unpaid is not None:
        return f"{unpaid.reference} is not paid in full yet."
    return None
