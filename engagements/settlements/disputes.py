"""Disputes: a customer disputes a settlement, which is on hold until finance resolves it."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from engagements import access
from engagements.access import require_finance
from engagements.common import validation
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.engagement.models import Engagement
from engagements.event_log import events
from engagements.people.models import User
from engagements.settlements.dispute_models import Dispute
from engagements.settlements.models import Settlement, holds
from engagements.settlements.transitions import locked

State = Settlement.State


def open_dispute(settlement: Settlement) -> Dispute | None:
    """Return the settlement's open dispute, if any."""
    return settlement.disputes.filter(resolved_at__isnull=True).first()


def is_measurement_disputed(engagement: Engagement) -> bool:
    """Whether a disputed acceptance run holds the settlement (see `MeasurementDispute`)."""
    return any(map(holds, engagement.measurement_disputes.all()))


def require_none_open(settlement: Settlement) -> None:
    """Require that the settlement is not on hold."""
    if is_measurement_disputed(settlement.contract_version.engagement):
        raise ApplicationError(
            "An acceptance run is disputed: the settlement waits.", code="settlement.on_hold"
        )
    if open_dispute(settlement):
        raise ApplicationError(
            "The customer disputes this settlement: resolve the dispute first.",
            code="settlement.on_hold",
        )


def blocking_error(settlement: Settlement) -> ApplicationError | None:
    """Return why a settlement cannot be disputed, or None."""
    if settlement.state == State.VOIDED:
        return ApplicationError("This settlement is voided.", code="dispute.settlement_voided")
    last_day = settlement.disputable_until
    if timezone.localdate() > last_day:
        return ApplicationError(
            f"The dispute period ended on {in_words(last_day)}.", code="dispute.period_ended"
        )
    return None


@transaction.atomic
def raise_dispute(*, settlement: Settlement, reason: str, by: User) -> Dispute:
    """Raise the dispute of a customer's signatory, within the contract's dispute period.

    While it is open, the settlement is neither approved nor paid; a transfer that is already with
    the bank may still end. Repeating an open dispute's reason returns that dispute; another
    reason is declined.
    """
    row, engagement = locked(settlement)
    access.require_signatory(engagement, by)
    why = validation.text(reason, noun="The reason for the dispute")
    existing = open_dispute(row)
    if existing and existing.reason == why:
        return existing
    if existing:
        raise ApplicationError(
            "This settlement is already disputed. Wait for the answer, or contact finance.",
            code="dispute.already_open",
        )
    error = blocking_error(row)
    if error:
        raise error
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
def resolve_open(
    *, settlement: Settlement, note: str, by: User, expected: int | None = None
) -> Settlement:
    """Resolve the settlement's open dispute; without one nothing changes.

    `expected` is the key of the dispute shown to `by`: declined when another one is open.
    """
    row, _ = locked(settlement)
    require_finance(by)
    dispute = open_dispute(row)
    if dispute and expected is not None and dispute.pk != expected:
        raise ApplicationError(
            "Another dispute was raised while you were looking; review it first.",
            code="dispute.outdated",
        )
    end_open(row, resolution=validation.text(note, noun="The resolution"), by=by)
    return row


@transaction.atomic
def withdraw(*, settlement: Settlement, by: User) -> Settlement:
    """Withdraw the open dispute, for a customer's signatory; without one nothing changes."""
    row, engagement = locked(settlement)
    access.require_signatory(engagement, by)
    end_open(row, resolution="Withdrawn by the customer.", by=by)
    return row


def end_open(settlement: Settlement, *, resolution: str, by: User) -> None:
    """End the open dispute of a locked settlement, if any."""
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
