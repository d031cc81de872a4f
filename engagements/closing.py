"""Cancel and close engagements, above all domains that this ends."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F, Sum

from engagements import access
from engagements.access import require_consultant
from engagements.audit import postings
from engagements.audit.models import Audit
from engagements.billing import credit_notes
from engagements.billing.balances import open_invoices
from engagements.billing.charge_invoices import charges_to_bill
from engagements.billing.milestones import WITH_INVOICES, outstanding, void_unearned_milestones
from engagements.billing.models import Invoice
from engagements.billing.payment_models import Payment
from engagements.charges.models import LIVE, Charge
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.contracts.milestones.handovers import newest_verb
from engagements.contracts.milestones.models import Milestone, ReleaseCondition
from engagements.contracts.models import ContractVersion
from engagements.contracts.versions import contract_in_force, open_acceptance_run
from engagements.engagement.models import Engagement, Stage
from engagements.engagement.stages import locked, move, require_stage
from engagements.engagement.triggers import CUSTOMER_ACCOUNTS
from engagements.event_log import events
from engagements.ledger.models import MonthTotal
from engagements.payouts.queries import (
    open_overpayment_refunds,
    overpaid_amount,
    overpaid_invoices,
)
from engagements.people.models import User
from engagements.runs import attempts
from engagements.runs.outcomes import DISQUALIFICATIONS_FOR_CAUSE
from engagements.settlements import services as settlements
from engagements.settlements.disputes import is_measurement_disputed
from engagements.settlements.models import Settlement
from engagements.settlements.queries import (
    has_unsettled_payments,
    live_settlements,
    settlement_of,
)


@transaction.atomic
def cancel(*, engagement: Engagement, reason: str, by: User) -> Engagement:
    """Cancel an engagement before its verdict.

    Raises ApplicationError once the customer has paid: then a settlement decides the refund.
    """
    row = locked(engagement.pk)
    require_consultant(by)
    if row.stage == Stage.CANCELLED:
        return row
    stated = validation.text(reason, noun="The reason for cancelling")
    if Payment.objects.filter(invoice__engagement=row).exists():
        raise ApplicationError(
            f"{row.reference} has received payments: propose a settlement by agreement, which "
            "decides the refund.",
            code="engagement.has_payments",
        )
    if row.charges.filter(state__in=LIVE).exists():
        raise ApplicationError(
            f"{row.reference} has a charge: end the contract by agreement, or void or cancel the "
            "charge first.",
            code="engagement.has_charges",
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
    require_stage(row, Stage.MET, Stage.MISSED, Stage.TERMINATED, to="to be closed")
    if is_measurement_disputed(row):
        raise ApplicationError(
            "An acceptance run is disputed. Close the engagement when the dispute has ended.",
            code="closing.run_disputed",
        )
    _require_no_open_refund(row)
    _require_charges_billed(row)
    if row.stage in (Stage.MET, Stage.TERMINATED):
        _require_paid(row)
    else:
        _require_settled(row)
    if row.stage == Stage.MET:
        _require_handed_over(row)
    _require_balanced(row)
    events.record(
        engagement=row,
        verb="engagement.closed",
        summary="The engagement was closed: all work is done and paid.",
        actor=by,
        changes=move(row, Stage.CLOSED),
        for_customer=True,
    )
    return row


@transaction.atomic
def end_for_cause(*, engagement: Engagement, by: User, address: str | None = None) -> Settlement:
    """End an active engagement for a customer's signatory, after two disqualified attempts.

    The contract is settled as after a missed target. Idempotent.
    """
    row = locked(engagement.pk)
    access.require_signatory(row, by)
    ended = Settlement.objects.filter(
        contract_version__engagement=row,
        reason=Settlement.Reason.CAUSE,
        overturned_at__isnull=True,
    ).first()
    if ended is not None:
        return ended
    error = cause_error(row)
    if error:
        raise error
    contract = contract_in_force(row)
    assert contract is not None  # an active engagement has one
    events.record(
        engagement=row,
        verb="engagement.ended_for_cause",
        summary=f"{by} ended the contract for {row.customer} for cause: "
        f"{attempts.disqualifications(row)} acceptance runs were disqualified.",
        actor=by,
        address=address,
        for_customer=True,
    )
    return settlements.create_proposal(
        engagement=row, contract=contract, reason=Settlement.Reason.CAUSE
    )


def cause_error(engagement: Engagement) -> ApplicationError | None:
    """Why the customer may not end the contract for cause, or None."""
    if engagement.stage != Stage.ACTIVE:
        return ApplicationError("The work has ended.", code="engagement.wrong_stage")
    if attempts.disqualifications(engagement) < DISQUALIFICATIONS_FOR_CAUSE:
        return ApplicationError(
            "The contract can be ended for cause after a second disqualified run.",
            code="settlement.no_cause",
        )
    if open_acceptance_run(engagement):
        return ApplicationError(
            "An acceptance run is in progress. End the contract when it has ended.",
            code="run.acceptance_in_progress",
        )
    if is_measurement_disputed(engagement):
        return ApplicationError(
            "An acceptance run is disputed. End the contract when the dispute has ended.",
            code="closing.run_disputed",
        )
    return None


def _credit_invoices(engagement: Engagement, why: str) -> None:
    """Discard draft invoices, credit issued ones, and waive the audit."""
    drafts = engagement.invoices.filter(kind=Invoice.Kind.INVOICE, state=Invoice.State.DRAFT)
    drafts.delete()
    for invoice in engagement.invoices.filter(kind=Invoice.Kind.INVOICE).order_by("pk"):
        if credit_notes.credited_net(invoice) < invoice.net:
            credit_notes.credit(invoice=invoice, reason=why)
    for audit in Audit.objects.filter(engagement=engagement, delivered_at__isnull=False):
        postings.audit_waived(audit)


def _require_no_open_refund(engagement: Engagement) -> None:
    refund = open_overpayment_refunds().filter(invoice__engagement=engagement).first()
    if refund is not None:
        raise ApplicationError(
            f"A refund of {refund.invoice.reference} is open: complete or void it first.",
            code="closing.refund_open",
        )


def _require_handed_over(engagement: Engagement) -> None:
    if newest_verb(engagement) != "handover.accepted":
        raise ApplicationError(
            "The handover is not accepted yet. Hand over the deliverables first.",
            code="closing.handover_open",
        )


def _require_charges_billed(engagement: Engagement) -> None:
    """Require that no charge waits for its approval or its invoice, and that all are paid."""
    proposed = engagement.charges.filter(state=Charge.State.PROPOSED).first()
    open_one = proposed or charges_to_bill().filter(engagement=engagement).first()
    if open_one is not None:
        waits = "its approval" if proposed else "its invoice"
        raise ApplicationError(
            f"The charge “{open_one.title}” waits for {waits}.", code="closing.charge_open"
        )
    unpaid = open_invoices().filter(engagement=engagement, charge__isnull=False).first()
    if unpaid is not None:
        raise ApplicationError(f"{unpaid.reference} is not paid in full.", code="closing.unpaid")


def _require_paid(engagement: Engagement) -> None:
    """Require that the milestones of a met or terminated contract are billed and paid."""
    # Milestones of a contract that was never accepted stay pending.
    agreed = (ContractVersion.State.ACCEPTED, ContractVersion.State.SUPERSEDED)
    milestones = Milestone.objects.filter(
        contract_version__engagement=engagement, contract_version__state__in=agreed
    )
    # After an overturned settlement, payments and refunds count for all invoices together.
    together = live_settlements().filter(
        contract_version__engagement=engagement, overturned_at__isnull=False
    )
    is_owed = open_invoices().filter(engagement=engagement).exists() if together else None
    for milestone in milestones.select_related("contract_version").prefetch_related(*WITH_INVOICES):
        if milestone.state == Milestone.State.PENDING:
            condition = ReleaseCondition(milestone.condition).label.lower()
            raise ApplicationError(
                f"Milestone “{milestone.title}” waits for: {condition}.",
                code="closing.milestone_pending",
            )
        if milestone.state == Milestone.State.RELEASED:
            raise _unbilled(milestone)
        is_unpaid = outstanding(milestone) > 0 if is_owed is None else is_owed
        if milestone.state == Milestone.State.BILLED and is_unpaid:
            raise ApplicationError(
                f"Milestone “{milestone.title}” is not paid in full.", code="closing.unpaid"
            )
    overpaid = overpaid_invoices().filter(engagement=engagement).first()
    if overpaid is not None:
        shown = format_money(overpaid_amount(overpaid), overpaid.currency)
        raise ApplicationError(
            f"{overpaid.reference} is overpaid by {shown}: move or refund it.",
            code="closing.overpaid",
        )


def _require_balanced(engagement: Engagement) -> None:
    """Require every account between us and the customer to be zero; a trigger checks it too."""
    totals = (
        MonthTotal.objects.filter(engagement=engagement, account__code__in=CUSTOMER_ACCOUNTS)
        .values_list("account__name", "currency")
        .annotate(balance=Sum(F("debit") - F("credit")))
    )
    for name, currency, balance in totals:
        if balance:
            shown = format_money(abs(balance), currency)
            raise ApplicationError(
                f"The ledger account “{name}” has {shown} of this engagement: clear it first.",
                code="closing.unbalanced",
            )


def _unbilled(milestone: Milestone) -> ApplicationError:
    return ApplicationError(
        f"Milestone “{milestone.title}” is not billed.", code="closing.unbilled"
    )


def _require_settled(engagement: Engagement) -> None:
    """Require a paid settlement, and payment of the audit: a closed engagement takes none."""
    settlement = settlement_of(engagement)
    if settlement is None:
        raise ApplicationError("Propose the settlement first.", code="closing.not_settled")
    if settlement.state != Settlement.State.PAID:
        raise ApplicationError("The settlement is not paid yet.", code="closing.settlement_unpaid")
    if has_unsettled_payments(engagement):
        raise ApplicationError(
            "Payments were received after the settlement: refund them by a further settlement.",
            code="closing.unsettled_payments",
        )
    unbilled = Milestone.objects.filter(
        contract_version__engagement=engagement, state=Milestone.State.RELEASED
    ).first()
    if unbilled is not None:
        raise _unbilled(unbilled)
    unpaid = open_invoices().filter(engagement=engagement).first()
    if unpaid is not None:
        raise ApplicationError(f"{unpaid.reference} is not paid in full.", code="closing.unpaid")
