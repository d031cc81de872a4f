"""The next step of a settlement, in words for the consultancy."""

from __future__ import annotations

from engagements.common.dates import in_words
from engagements.settlements.models import Settlement

State = Settlement.State
_BY_STATE = {
    State.VOIDED: "Propose the settlement again: it was voided.",
    State.APPROVED: "Transfer the refund.",
    State.PAYING: "Wait for the bank, then enter the transfer reference.",
    State.FAILED: "The transfer failed: transfer the refund again, or void the settlement.",
}


def next_step(settlement: Settlement, *, is_outdated: bool = False) -> str:
    """Return what finance does next; "" where nothing is left to do.

    `is_outdated`: payments were recorded since it was proposed.
    """
    text = _next_step(settlement, is_outdated=is_outdated)
    if text and settlement.is_refund_overdue and settlement.refund_due_on:
        text += f" The refund was due on {in_words(settlement.refund_due_on)}."
    return text


def _next_step(settlement: Settlement, *, is_outdated: bool) -> str:
    if settlement.is_on_hold:
        return "Resolve the customer's dispute: the settlement is on hold."
    if settlement.state == State.PAID:
        return ""
    if settlement.state == State.VOIDED and not settlement.needs_reproposal:
        return ""
    if is_outdated:
        return "Void the settlement and propose it again: the payments have changed."
    if settlement.state == State.PROPOSED:
        if settlement.proposed_by is None:
            return "Review and approve the settlement."
        return f"Review and approve the settlement: not {settlement.proposed_by}, who proposed it."
    if settlement.state == State.APPROVED and not settlement.has_refund:
        return "Enter a filing reference: there is no refund to transfer."
    return _BY_STATE[State(settlement.state)]
