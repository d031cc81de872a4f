"""Cancel and close engagements, above all domains that this ends."""

from __future__ import annotations

from django.db import transaction

from engagements import access
from engagements.access import require_consultant
from engagements.audit import postings
from engagements.audit.models import Audit
from engagements.billing import credit_notes
from engagements.billing.balances import open_invoices
from engagements.billing.milestones import WITH_INVOICES, outstanding, void_unearned_milestones
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
    """Cancel an engagement before its verdict.

    Raises ApplicationError once the customer has paid: then the settlement decides the refund.
    """
    row = locked(engagement.pk)
    require_consultant(by)
    if row.stage == Stage.CANCELLED:
        return row
    stated = validation.text(reason, noun="The reason for cancelling")
    if Payment.objects.filter(invoice__engagement=row).exists():
        raise ApplicationError(
            f"{row.reference} has received payments and ends by its verdict, so that the "
            "settlement decides the refund.",
            code="engagement.has_payments",
        )
    if open_acceptance_run(row):
        raise ApplicationError(
            "An acceptance run is in progress. Cancel the engagement when it has ended.",
            code="run.acceptance_in_progress",
        )
    changes = move(row, Stage.CANCELLED)
    row.contracts.filter(state=ContractVersion.State.OFFERED).update(
        state=ContractVersion.State.WITHDRAWN
    )
    _credit_invoices(row, f"The engagement was cancelled: {stated}")
    void_unearned_milestones(row)
    events.record(
        engagement=row,
        verb="engagement.cancelled",
        summary=f"The engagement was cancelled: {stated}",
        actor=by,
        changes=changes | {"reason": stated},
        for_customer=True,
    )
    return row


@transaction.atomic
def close(*, engagement: Engagement, by: User) -> Engagement:
    """Close an engagement in which all work is done and paid."""
    row = locked(engagement.pk)
    if not access.is_staff_member(by):
        raise ApplicationError("Only staff may close an engagement.", code="access.staff_only")
    if row.stage == Stage.CLOSED:
        return row
    require_stage(row, Stage.MET, Stage.MISSED, to="to be closed")
    is_met = row.stage == Stage.MET
    blocking_reason = _open_after_met(row) if is_met else _open_after_missed(row)
    blocking_reason = blocking_reason or _open_refund(row)
    if blocking_reason:
        raise ApplicationError(blocking_reason, code="engagement.not_settled")
    events.record(
        engagement=row,
        verb="engagement.closed",
        summary="The engagement was closed: all work is done and paid.",
        actor=by,
        changes=move(row, Stage.CLOSED),
        for_customer=True,
    )
    return row


def _credit_invoices(engagement: Engagement, why: str) -> None:
    """Discard draft invoices, credit issued ones, and waive the audit."""
    engagement.invoices.filter(state=Invoice.State.DRAFT).delete()
    for invoice in engagement.invoices.filter(kind=Invoice.Kind.INVOICE).order_by("pk"):
        if credit_notes.credited_net(invoice) < invoice.net:
            credit_notes.credit(invoice=invoice, reason=why, by=None)
    for audit in Audit.objects.filter(engagement=engagement, delivered_at__isnull=False):
        postings.audit_waived(audit)


def _open_after_met(engagement: Engagement) -> str | None:
    # Milestones of versions that were only offered stay pending and are not owed.
    agreed = (ContractVersion.State.ACCEPTED, ContractVersion.State.SUPERSEDED)
    milestones = Milestone.objects.filter(
        contract_version__engagement=engagement, contract_version__state__in=agreed
    )
    for milestone in milestones.select_related("contract_version").prefetch_related(*WITH_INVOICES):
        if milestone.state == Milestone.State.PENDING:
            condition = ReleaseCondition(milestone.condition).label.lower()
            return f"“{milestone.title}” waits for: {condition}."
        if milestone.state == Milestone.State.RELEASED:
            return f"Invoice “{milestone.title}” first."
        if milestone.state == Milestone.State.BILLED and outstanding(milestone) > 0:
            return f"“{milestone.title}” is not fully paid."
    overpaid = overpaid_invoices().filter(engagement=engagement).first()
    if overpaid is not None:
        excess = format_money(excess_of(overpaid), overpaid.currency)
        return f"{overpaid.reference} is overpaid by {excess}: move or refund it."
    return None


def _open_refund(engagement: Engagement) -> str | None:
    on_their_way = OverpaymentRefund.objects.filter(state__in=OverpaymentRefund.OPEN)
    row = on_their_way.filter(invoice__engagement=engagement).first()
    if row is None:
        return None
    return f"The overpayment of {row.invoice.reference} is still being refunded."


def _open_after_missed(engagement: Engagement) -> str | None:
    settlement = (
        Settlement.objects.filter(contract_version__engagement=engagement)
        .exclude(state=Settlement.State.VOIDED)
        .first()
    )
    if settlement is None:
        return "Propose the settlement first."
    if settlement.state != Settlement.State.PAID:
        return "The settlement is not paid."
    if has_unsettled_payments(engagement):
        return "Payments arrived after the settlement: refund them by a further settlement."
    return _open_audit(engagement)


def _open_audit(engagement: Engagement) -> str | None:
    """Say what of the retained audit is open: a closed engagement takes no payments."""
    unbilled = Milestone.objects.filter(
        contract_version__engagement=engagement, state=Milestone.State.RELEASED
    ).first()
    if unbilled is not None:
        return f"Invoice “{unbilled.title}” first."
    unpaid = open_invoices().filter(engagement=engagement).first()
    if unpaid is not None:
        return f"{unpaid.reference} is not fully paid."
    return None
