"""Milestones after their release: billed, paid, and the handover accepted."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from engagements import access
from engagements.errors import Refused
from engagements.models import (
    ContractVersion,
    Engagement,
    Milestone,
    Payment,
    ReleaseCondition,
    Settlement,
    Stage,
    User,
)
from engagements.money import format_money
from engagements.queries.amounts import gross, received
from engagements.services import checked, events, lifecycle
from engagements.services.releases import release


def require_finance(by: User) -> None:
    """Refuse whoever may not move money; a superuser is no exception."""
    if not access.is_finance(by):
        raise Refused("Only people of finance do this.")


@transaction.atomic
def bill(*, milestone: Milestone, reference: str, by: User) -> Milestone:
    """Note that the customer was asked for a released milestone, under `reference`."""
    row, engagement = _locked(milestone)
    require_finance(by)
    reference = checked.text(reference, noun="The billing reference")
    if row.state == Milestone.State.BILLED:
        if row.billing_reference != reference:
            raise Refused(f"“{row.title}” was billed already, as {row.billing_reference}.")
        return row
    if row.state != Milestone.State.RELEASED:
        state = Milestone.State(row.state).label.lower()
        raise Refused(f"“{row.title}” is {state}: only a released milestone is billed.")
    row.state, row.billing_reference = Milestone.State.BILLED, reference
    row.billed_at = timezone.now()
    checked.save(row)
    asked = format_money(gross(row), row.contract_version.currency)
    events.record(
        engagement=engagement,
        verb="milestone.billed",
        summary=f"“{row.title}” was billed: {asked} with tax, reference {reference}.",
        actor=by,
        changes={"milestone": row.pk, "state": ["released", "billed"], "reference": reference},
        for_customer=True,
    )
    return row


@transaction.atomic
def record_payment(
    *, milestone: Milestone, amount: Decimal, received_on: date, reference: str, by: User
) -> Payment:
    """Note money that arrived for a billed milestone: gross, at most what is still open.

    The same reference is the same payment. Refused while a settlement counts on what had been
    received when it was proposed: that one is voided first, and proposed anew afterwards.
    """
    row, engagement = _locked(milestone)
    require_finance(by)
    currency = row.contract_version.currency
    amount = checked.amount(amount, currency, noun="The payment")
    reference = checked.text(reference, noun="The payment reference")
    known = row.payments.filter(reference=reference).first()
    if known:
        if (known.amount, known.received_on) != (amount, received_on):
            raise Refused(f"A payment {reference} is recorded already, with other figures.")
        return known
    _require_payable(row, engagement)
    if received_on > timezone.localdate():
        raise Refused("A payment is recorded when it has arrived, not before.")
    open_amount = gross(row) - received(row)
    if amount > open_amount:
        left = format_money(open_amount, currency)
        raise Refused(f"“{row.title}” has {left} open; {amount:f} would be too much.")
    payment = Payment(
        milestone=row, amount=amount, received_on=received_on, reference=reference, recorded_by=by
    )
    checked.save(payment)
    events.record(
        engagement=engagement,
        verb="payment.recorded",
        summary=f"{format_money(amount, currency)} received for “{row.title}”.",
        actor=by,
        changes={"milestone": row.pk, "amount": str(amount), "reference": reference},
        for_customer=True,
    )
    return payment


@transaction.atomic
def accept_handover(*, engagement: Engagement, by: User, address: str | None = None) -> Engagement:
    """The customer's signatory accepts the handover: what waited for it is released."""
    row = lifecycle.locked(engagement.pk)
    lifecycle.require_signatory(row, by)
    lifecycle.require_stage(row, Stage.MET, Stage.CLOSED, to="for its handover to be accepted")
    contract = lifecycle.contract_in_force(row)
    assert contract is not None  # only a contract in force is met
    contract.engagement = row
    waiting = contract.milestones.filter(condition=ReleaseCondition.HANDOVER)
    if not waiting.exists():
        raise Refused("No handover was agreed in this contract.")
    if not waiting.filter(state=Milestone.State.PENDING).exists():
        return row
    events.record(
        engagement=row,
        verb="handover.accepted",
        summary=f"{by} accepted the handover for {row.customer}.",
        actor=by,
        address=address,
        for_customer=True,
    )
    release(contract=contract, condition=ReleaseCondition.HANDOVER, by=by)
    return row


def _locked(milestone: Milestone) -> tuple[Milestone, Engagement]:
    """The milestone read again under its engagement's lock."""
    contract = ContractVersion.objects.get(milestones=milestone.pk)
    engagement = lifecycle.locked(contract.engagement_id)
    row = Milestone.objects.select_related("contract_version").get(pk=milestone.pk)
    return row, engagement


def _require_payable(milestone: Milestone, engagement: Engagement) -> None:
    """Refuse money that nothing was billed for, or that would belie a settlement's figures.

    A customer may have paid on the day of the verdict: what was billed before it was voided
    still takes that payment, and the settlement counts it.
    """
    if milestone.billed_at is None:
        raise Refused(f"“{milestone.title}” is not billed: no payment is expected for it.")
    lifecycle.require_stage(
        engagement, Stage.ACTIVE, Stage.MET, Stage.MISSED, to="to take a payment"
    )
    settlements = milestone.contract_version.settlements
    if settlements.exclude(state=Settlement.State.VOIDED).exists():
        raise Refused(
            "The settlement counts on what had been received by then: void it first, record "
            "this payment, and propose it anew. Money that follows a paid settlement is sent back."
        )
