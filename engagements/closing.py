"""TODO docstring."""

from __future__ import annotations

from django.db import transaction

from engagements import access
from engagements.access import require_consultant
from engagements.audit import postings
from engagements.audit.models import Audit
from engagements.billing import credit_notes
from engagements.billing.amounts import WITH_INVOICES, outstanding
from engagements.billing.balances import open_invoices
from engagements.billing.milestones import void_unearned_milestones
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.contracts.milestones.models import Milestone, ReleaseCondition
from engagements.contracts.models import ContractVersion
from engagements.contracts.versions import open_acceptance_run
from engagements.engagement.models import Engagement, Stage
from engagements.engagement.stages import locked, move, require_stage
from engagements.event_log import events
from engagements.payouts.models import OverpaymentRefund
from engagements.payouts.queries import excess_of, overpaid_invoices
from engagements.people.models import User
from engagements.settlements.models import Settlement
from engagements.settlements.pending import has_unsettled_payments


@transaction.atomic
def cancel(*, engagement: Engagement, reason: str, by: User) -> Engagement:
    """End an engagement before its verdict. Refused once the customer has paid anything:
    then only a verdict or the end of the time-box says what goes back."""
    row = locked(engagement.pk)
    require_consultant(by)
    if row.stage == Stage.CANCELLED:
        return row
    why = validation.text(reason, noun="The reason for cancelling")
    if Payment.objects.filter(invoice__engagement=row).exists():
        raise ApplicationError(
            f"{row.reference} has received money: it ends by its verdict, so that the "
            "settlement says what goes back.",
            code="closing.todo",
        )
    if open_acceptance_run(row):
        raise ApplicationError(
            "An acceptance run is under way; cancel when it has ended.", code="closing.todo"
        )
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
    if not access.is_staff_member(by):
        raise ApplicationError("The consultancy closes an engagement.", code="closing.todo")
    if row.stage == Stage.CLOSED:
        return row
    require_stage(row, Stage.MET, Stage.MISSED, to="to be closed")
    is_met = row.stage == Stage.MET
    open_matter = _open_after_met(row) if is_met else _open_after_missed(row)
    open_matter = open_matter or _going_back(row)
    if open_matter:
        raise ApplicationError(open_matter, code="closing.todo")
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

    engagement.invoices.filter(state=Invoice.State.DRAFT).delete()
    for invoice in engagement.invoices.filter(kind=Invoice.Kind.INVOICE).order_by("pk"):
        if credit_notes.credited_net(invoice) < invoice.net:
            credit_notes.credit(invoice=invoice, reason=why, by=None)
    for audit in Audit.objects.filter(engagement=engagement, delivered_at__isnull=False):
        postings.audit_waived(audit)


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
    on_their_way = OverpaymentRefund.objects.filter(state__in=OverpaymentRefund.OPEN)
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
    if has_unsettled_payments(engagement):
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
