"""Disputes: the customer objects to a settlement, which is then on hold until it is resolved."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from engagements import access
from engagements.access import require_finance
from engagements.common import validation
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.event_log import events
from engagements.people.models import User
from engagements.settlements.models import Dispute, Settlement
from engagements.settlements.steps import locked

State = Settlement.State


def open_dispute(settlement: Settlement) -> Dispute | None:
    """The dispute that holds a settlement up, if there is one."""
    return settlement.disputes.filter(resolved_at__isnull=True).first()


def require_none_open(settlement: Settlement) -> None:
    """Refuse what a settlement on hold does not do."""
    if open_dispute(settlement):
        raise ApplicationError(
            "The customer disputes this settlement: it is on hold until that is resolved.",
            code="settlements.todo",
        )


def obstacle(settlement: Settlement) -> str | None:
    """Why a settlement cannot be disputed; None when it can."""
    if settlement.state == State.VOIDED:
        return "This settlement was set aside: there is nothing to dispute."
    last_day = settlement.disputable_until
    if timezone.localdate() > last_day:
        ended = in_words(last_day)
        return f"A settlement is disputed inside the agreed window, which ended on {ended}."
    return None


@transaction.atomic
def raise_dispute(*, settlement: Settlement, reason: str, by: User) -> Dispute:
    """The customer's signatory objects, inside the contract's window.

    Until it is resolved the settlement is neither approved nor paid; what is with the bank
    already still arrives. Raised while one is open, that one stays.
    """
    row, engagement = locked(settlement)
    access.require_signatory(engagement, by)
    known = open_dispute(row)
    if known:
        return known
    hindrance = obstacle(row)
    if hindrance:
        raise ApplicationError(hindrance, code="settlements.todo")
    why = validation.text(reason, noun="What is disputed")
    dispute = Dispute(settlement=row, reason=why, raised_by=by)
    validation.save_validated(dispute)
    events.record(
        engagement=engagement,
        verb="settlement.disputed",
        summary=f"{by} disputes the settlement for {engagement.customer}: {why}",
        actor=by,
        changes={"settlement": row.pk, "dispute": dispute.pk},
        for_customer=True,
    )
    return dispute


@transaction.atomic
def resolve(*, dispute: Dispute, note: str, by: User) -> Dispute:
    """Finance says how a dispute ended. The settlement goes on from where it was."""
    settlement, _ = locked(dispute.settlement)
    require_finance(by)
    row = Dispute.objects.get(pk=dispute.pk)
    if row.resolved_at:
        return row
    end_with(settlement, resolution=validation.text(note, noun="How it was resolved"), by=by)
    return Dispute.objects.get(pk=row.pk)


@transaction.atomic
def resolve_open(
    *, settlement: Settlement, note: str, by: User, seen: int | None = None
) -> Settlement:
    """`resolve` for whichever dispute holds the settlement up; without one nothing changes.

    `seen` is the key of the one that `by` has read: refused when another was raised since.
    """
    row, _ = locked(settlement)
    require_finance(by)
    dispute = open_dispute(row)
    if dispute and seen is not None and dispute.pk != seen:
        raise ApplicationError(
            "Another dispute was raised since you looked: open this page again.",
            code="settlements.todo",
        )
    end_with(row, resolution=validation.text(note, noun="How it was resolved"), by=by)
    return row


def end_with(settlement: Settlement, *, resolution: str, by: User) -> None:
    """End a locked settlement's open dispute, if it has one."""
    row = open_dispute(settlement)
    if row is None:
        return
    row.resolution, row.resolved_by, row.resolved_at = resolution, by, timezone.now()
    validation.save_validated(row)
    events.record(
        engagement=settlement.contract_version.engagement,
        verb="settlement.dispute_resolved",
        summary=f"The dispute of the settlement was resolved: {resolution}",
        actor=by,
        changes={"settlement": settlement.pk, "dispute": row.pk},
        for_customer=True,
    )
