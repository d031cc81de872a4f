"""What is next about a settlement that is not at its end, said to the consultancy."""

from __future__ import annotations

from engagements.common.dates import in_words
from engagements.settlements.models import Settlement

_BY_STATE = {
    Settlement.State.VOIDED: "The settlement was set aside: propose it anew.",
    Settlement.State.PROPOSED: "Approve the settlement: a second person has to.",
    Settlement.State.APPROVED: "Start the payment of the settlement.",
    Settlement.State.PAYING: "Confirm the payment with its reference.",
    Settlement.State.FAILED: "The payment failed: start it again.",
}


def next_of(settlement: Settlement) -> str:
    """What finance does next about it."""
    if settlement.is_on_hold:
        return "Resolve the customer's dispute: until then the settlement is on hold."
    if settlement.state == Settlement.State.APPROVED and not settlement.has_refund:
        return "Enter what the settlement is filed under: nothing goes back."
    text = _BY_STATE[Settlement.State(settlement.state)]
    if settlement.is_refund_overdue and settlement.refund_due_on:
        text += f" The refund was due by {in_words(settlement.refund_due_on)} and is late."
    return text
