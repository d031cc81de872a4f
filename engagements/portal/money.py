"""Money as the customer reads it: what is due, what is paid, what goes back."""

from __future__ import annotations

from dataclasses import dataclass

from engagements.billing.milestones import MilestoneLine
from engagements.common.dates import in_words
from engagements.common.money import format_money
from engagements.contracts.milestones.models import Milestone
from engagements.portal.labels import RELEASE_WORD
from engagements.settlements.models import Settlement


@dataclass(frozen=True)
class MilestoneRow:
    """A milestone with its state in words; `badge` is a state that the badge knows."""

    line: MilestoneLine
    badge: str
    label: str
    note: str


def milestone_row(line: MilestoneLine) -> MilestoneRow:
    """One milestone in the customer's words."""
    milestone = line.milestone
    due = f"Due {RELEASE_WORD[milestone.condition]}."
    if milestone.state == Milestone.State.VOID:
        return MilestoneRow(line, "void", "Not owed", "Fell away: nothing is to be paid.")
    if milestone.state == Milestone.State.PENDING:
        return MilestoneRow(line, "pending", "Not due yet", due)
    if milestone.state == Milestone.State.RELEASED:
        return MilestoneRow(line, "pending", "Invoice follows", "Earned. We send the invoice next.")
    bill = f"Invoice {milestone.billing_reference}"
    if line.is_paid:
        return MilestoneRow(line, "paid", "Paid", f"{bill}, paid in full. Thank you.")
    part = f" {format_money(line.paid, line.currency)} arrived." if line.paid > 0 else ""
    if line.is_held:
        wait = "a settlement is being prepared, nothing is to be paid until its sum is approved."
        return MilestoneRow(line, "", "Waits", f"{bill}: {wait}{part}")
    if line.open_amount <= 0:
        return MilestoneRow(line, "paid", "Settled", f"{bill}: nothing is left to pay.{part}")
    still = format_money(line.open_amount, line.currency)
    return MilestoneRow(line, "unknown", "Open", f"{bill}: {still} to pay.{part}")


@dataclass(frozen=True)
class SettlementWords:
    """A settlement in plain words: why, how much, when, and by when the contract says."""

    why: str
    what: str
    when: str
    due: str
    badge: str
    label: str


def settlement_words(settlement: Settlement) -> SettlementWords:
    """What goes back to the customer, and where that stands."""
    why = {
        Settlement.Reason.MISSED: "The measurement did not show that the target is reached.",
        Settlement.Reason.TIME_BOX: "The time-box ended before the target was shown.",
        Settlement.Reason.FURTHER: settlement.note,
    }[Settlement.Reason(settlement.reason)]
    badge, label, when = _where_it_stands(settlement)
    return SettlementWords(
        why=why,
        what=_what_goes_back(settlement),
        when=when,
        due=_due(settlement),
        badge=badge,
        label=label,
    )


def _due(settlement: Settlement) -> str:
    due_on = settlement.refund_due_on
    if due_on is None or not settlement.is_open:
        return ""
    if settlement.is_refund_overdue:
        return f"By the contract it was to be paid by {in_words(due_on)}: it is late."
    return f"By the contract it is paid by {in_words(due_on)}."


def _what_goes_back(settlement: Settlement) -> str:
    currency, kept = settlement.currency, settlement.audit_cost + settlement.audit_tax
    paid = format_money(settlement.payments_received, currency)
    if settlement.refunded_before:
        paid += f", and {format_money(settlement.refunded_before, currency)} of it went back before"
    audit = format_money(kept, currency)
    if settlement.has_refund:
        refund = format_money(settlement.refund, currency)
        stays = (
            f"The audit was done and delivered, and {audit} (with tax) of it stays with us."
            if kept
            else "We keep nothing of the audit."
        )
        return f"You paid {paid}. {stays} The rest, {refund}, goes back to you."
    if settlement.balance_due > 0:
        due = format_money(settlement.balance_due, currency)
        return (
            f"You paid {paid}. The audit was done and delivered and costs {audit} with tax, so "
            f"{due} of it is still open. Nothing else is owed."
        )
    return f"You paid {paid}, which is what the audit costs with tax. We are even."


def _where_it_stands(settlement: Settlement) -> tuple[str, str, str]:
    state = Settlement.State(settlement.state)
    if state == Settlement.State.PAID and settlement.paid_at is not None:
        when = in_words(settlement.paid_at)
        verb = "Paid to you" if settlement.has_refund else "Settled"
        return (
            "paid",
            verb,
            f"{verb} on {when}, reference {settlement.payment_reference}.",
        )
    return {
        Settlement.State.PROPOSED: (
            "proposed",
            "Being checked",
            "The amount is being checked by a second person. "
            + ("The transfer follows." if settlement.has_refund else "Then it stands here."),
        ),
        Settlement.State.APPROVED: (
            "approved",
            "Approved",
            "The amount is approved. "
            + (
                "We make the transfer next."
                if settlement.has_refund
                else "Nothing is to be transferred to you."
            ),
        ),
        Settlement.State.PAYING: (
            "paying",
            "On its way",
            "The transfer is with the bank. It shows here when it is made.",
        ),
        Settlement.State.FAILED: (
            "failed",
            "Transfer did not go through",
            "The bank could not make the transfer. We are on it and try again.",
        ),
    }.get(state, ("void", settlement.get_state_display(), ""))
