"""Milestones and settlements for the customer: due, paid, refunded."""

from __future__ import annotations

from dataclasses import dataclass

from engagements.billing.milestones import MilestoneLine
from engagements.common.dates import in_words
from engagements.common.money import format_money
from engagements.contracts.milestones.conditions import CONDITIONS
from engagements.contracts.milestones.models import Milestone, ReleaseCondition
from engagements.settlements.models import Settlement


@dataclass(frozen=True)
class MilestoneRow:
    """A milestone with its status. `badge` is the state that sets the badge's colour."""

    line: MilestoneLine
    badge: str
    label: str
    note: str


def milestone_row(line: MilestoneLine) -> MilestoneRow:
    """Describe a milestone for the customer."""
    milestone = line.milestone
    due = f"Due {CONDITIONS[ReleaseCondition(milestone.condition)].customer_text}."
    if milestone.state == Milestone.State.VOID:
        return MilestoneRow(line, "void", "Cancelled", "Cancelled: nothing is due.")
    if milestone.state == Milestone.State.PENDING:
        return MilestoneRow(line, "pending", "Not due yet", due)
    if milestone.state == Milestone.State.RELEASED:
        return MilestoneRow(line, "pending", "To be invoiced", "Released. The invoice follows.")
    bill = f"Invoice {milestone.billing_reference}"
    if line.is_paid:
        return MilestoneRow(line, "paid", "Paid", f"{bill}, paid in full.")
    part = f" {format_money(line.paid, line.currency)} was received." if line.paid > 0 else ""
    if line.is_held:
        wait = "a settlement is being prepared; do not pay until its amount is approved."
        return MilestoneRow(line, "", "On hold", f"{bill}: {wait}{part}")
    if line.open_amount <= 0:
        return MilestoneRow(line, "paid", "Settled", f"{bill}: settled.{part}")
    due_amount = format_money(line.open_amount, line.currency)
    return MilestoneRow(line, "unknown", "Open", f"{bill}: {due_amount} is due.{part}")


@dataclass(frozen=True)
class SettlementText:
    """A settlement described for the customer: reason, amounts, status and due date."""

    reason: str
    amounts: str
    status: str
    due: str
    badge: str
    label: str


def settlement_text(settlement: Settlement) -> SettlementText:
    """Describe a settlement for the customer."""
    reason = {
        Settlement.Reason.MISSED: "The final acceptance run did not reach the target.",
        Settlement.Reason.CAUSE: "You ended the contract for cause.",
        Settlement.Reason.TIME_BOX: "The time-box ended before the target was met.",
        Settlement.Reason.FURTHER: settlement.note,
        Settlement.Reason.AGREED: settlement.note,
    }[Settlement.Reason(settlement.reason)]
    badge, label, status = _status(settlement)
    return SettlementText(
        reason=reason,
        amounts=_amounts(settlement),
        status=status,
        due=_due(settlement),
        badge=badge,
        label=label,
    )


def _due(settlement: Settlement) -> str:
    due_on = settlement.refund_due_on
    if due_on is None or not settlement.is_open:
        return ""
    if settlement.is_refund_overdue:
        return f"The refund was due by {in_words(due_on)} and is late."
    return f"The refund is due by {in_words(due_on)}."


def _amounts(settlement: Settlement) -> str:
    currency, kept = settlement.currency, settlement.audit_cost + settlement.audit_tax
    paid = format_money(settlement.payments_received, currency)
    if settlement.refunded_before:
        paid += (
            f", of which {format_money(settlement.refunded_before, currency)} was refunded before"
        )
    audit = format_money(kept, currency)
    if settlement.has_refund:
        refund = format_money(settlement.refund, currency)
        retained = (
            f"We keep {audit} (with tax) for the delivered audit."
            if kept
            else "We keep nothing for the audit."
        )
        return f"You paid {paid}. {retained} We refund the rest, {refund}."
    if settlement.balance_due > 0:
        due = format_money(settlement.balance_due, currency)
        return (
            f"You paid {paid}. The delivered audit costs {audit} with tax, so {due} remains "
            "payable. Nothing else is due."
        )
    return f"You paid {paid}, which equals the cost of the audit with tax. Nothing is due."


def _status(settlement: Settlement) -> tuple[str, str, str]:
    state = Settlement.State(settlement.state)
    if state == Settlement.State.PAID and settlement.paid_at is not None:
        when = in_words(settlement.paid_at)
        verb = "Refunded" if settlement.has_refund else "Settled"
        if settlement.overturned_at is not None:
            overturned = (
                f"{verb} on {when}. On {in_words(settlement.overturned_at)} the repeat of an "
                "acceptance run undid the settlement: what was refunded is part of the amounts of "
                "your invoices."
            )
            return ("void", "Undone", overturned)
        return (
            "paid",
            verb,
            f"{verb} on {when}, reference {settlement.payment_reference}.",
        )
    return {
        Settlement.State.PROPOSED: (
            "proposed",
            "In review",
            "A second person reviews the amount. "
            + ("The transfer follows." if settlement.has_refund else "No transfer is due."),
        ),
        Settlement.State.APPROVED: (
            "approved",
            "Approved",
            "The amount is approved. "
            + ("The transfer follows." if settlement.has_refund else "No transfer is due."),
        ),
        Settlement.State.PAYING: (
            "paying",
            "In transit",
            "The transfer is with the bank.",
        ),
        Settlement.State.FAILED: (
            "failed",
            "Transfer failed",
            "The bank rejected the transfer. We try again.",
        ),
    }.get(state, ("void", settlement.get_state_display(), ""))
