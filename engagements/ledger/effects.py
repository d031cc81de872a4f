"""The effect of each business fact on an engagement's accounts, computed from its balances.

Pure arithmetic, for postings and for the preview of a settlement. Each function returns amounts
by account, debit positive and credit negative, that add up to zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from engagements.ledger import chart
from engagements.ledger.positions import Positions

Effect = Mapping[str, Decimal]
NOTHING = Decimal(0)

REVENUE_RULE = (
    "The audit is revenue on the day it is delivered; a contract that agrees a lower audit cost "
    "reduces it. The rest of the fee is revenue on the day the target is met, in full, whether it "
    "is billed and paid or not. Until then fees billed are deferred, and fees paid are a refund "
    "liability. A charge beside the fee is revenue when it is billed, and a termination makes the "
    "released milestones revenue."
)


def billed(position: Positions, *, net: Decimal, tax: Decimal, is_earned: bool) -> Effect:
    """An invoice: it bills what is earned and unbilled first.

    The rest is deferred, or where the fee is earned revenue (see `REVENUE_RULE`).
    """
    audit = min(position.debit(chart.AUDIT_UNBILLED), net)
    fee = min(position.debit(chart.FEES_UNBILLED), net - audit)
    return {
        chart.RECEIVABLES: net + tax,
        chart.AUDIT_UNBILLED: -audit,
        chart.FEES_UNBILLED: -fee,
        chart.FEE_REVENUE if is_earned else chart.FEES_DEFERRED: audit + fee - net,
        chart.OUTPUT_TAX: -tax,
    }


def charged(*, net: Decimal, tax: Decimal) -> Effect:
    """The invoice of a charge; negative amounts are those of its credit note."""
    return {
        chart.RECEIVABLES: net + tax,
        chart.CHARGE_REVENUE: -net,
        chart.OUTPUT_TAX: -tax,
    }


def credited(position: Positions, *, net: Decimal, tax: Decimal) -> Effect:
    """A credit note: reverse unpaid fees first, the audit last."""
    effect = {chart.RECEIVABLES: -net - tax, chart.OUTPUT_TAX: tax}
    left = net
    for account in (chart.FEES_DEFERRED, chart.REFUND_LIABILITY, chart.FEE_REVENUE):
        effect[account] = min(position.credit(account), left)
        left -= effect[account]
    # The rest had covered the audit, which is earned but not billed any more.
    return effect | {chart.AUDIT_UNBILLED: left}


def credited_after_met(
    position: Positions, *, net: Decimal, tax: Decimal, audit: Decimal, billed_again: Decimal
) -> Effect:
    """A credit note after the target was met: it reduces the revenue of the credited services.

    `audit` is the net credited on the audit's line. `billed_again` is the net that another
    invoice will bill, which stays revenue.
    """
    left = net - billed_again
    from_audit = min(audit, left, position.credit(chart.AUDIT_REVENUE))
    from_fee = min(left - from_audit, position.credit(chart.FEE_REVENUE))
    return {
        chart.RECEIVABLES: -net - tax,
        chart.OUTPUT_TAX: tax,
        chart.FEES_UNBILLED: billed_again,
        chart.FEE_REVENUE: from_fee,
        chart.AUDIT_REVENUE: left - from_fee,
    }


def received(position: Positions, amount: Decimal) -> Effect:
    """A payment: beyond the audit's share it becomes a refund liability.

    It is held in suspense against the bank line that shows it, before or after.
    """
    return _incoming(position, amount, at=chart.SUSPENSE)


def received_in_another_currency(position: Positions, amount: Decimal) -> Effect:
    """A payment whose bank line is in another currency."""
    return _incoming(position, amount, at=chart.EXCHANGE_POSITION)


def bad_debt(position: Positions, *, net: Decimal, tax: Decimal) -> Effect:
    """A receivable that will not be paid: fees not earned yet are no loss."""
    deferred = min(position.credit(chart.FEES_DEFERRED), net)
    return {
        chart.RECEIVABLES: -net - tax,
        chart.OUTPUT_TAX: tax,
        chart.FEES_DEFERRED: deferred,
        chart.BAD_DEBT: net - deferred,
    }


def moved_in(position: Positions, amount: Decimal) -> Effect:
    """An overpayment moved here from another invoice."""
    return _incoming(position, amount, at=chart.MOVED_PAYMENTS)


def moved_out(position: Positions, amount: Decimal) -> Effect:
    """An overpayment moved to another invoice."""
    return _outgoing(position, amount, at=chart.MOVED_PAYMENTS)


def reversed_payment(position: Positions, amount: Decimal) -> Effect:
    """A received payment that is undone; the receivable is open again."""
    return _outgoing(position, amount, at=chart.SUSPENSE)


def reversed_in_another_currency(position: Positions, amount: Decimal) -> Effect:
    """The reversal of a payment whose bank line is in another currency."""
    return _outgoing(position, amount, at=chart.EXCHANGE_POSITION)


def paid_back(position: Positions, amount: Decimal) -> Effect:
    """An overpayment being refunded; money in transit counts as gone."""
    return _outgoing(position, amount, at=chart.TRANSFERS)


def came_back(position: Positions, amount: Decimal) -> Effect:
    """An overpayment refund that the bank returned."""
    return _incoming(position, amount, at=chart.TRANSFERS)


def _incoming(position: Positions, amount: Decimal, *, at: str) -> Effect:
    arrived = {at: amount, chart.RECEIVABLES: -amount}
    after = position.plus(arrived)
    might_go_back = max(after.received_net() - after.audit_billed, NOTHING)
    more = might_go_back - position.credit(chart.REFUND_LIABILITY)
    # After the verdict nothing is deferred, so nothing becomes refundable.
    moved = min(max(more, NOTHING), position.credit(chart.FEES_DEFERRED))
    return arrived | {chart.FEES_DEFERRED: moved, chart.REFUND_LIABILITY: -moved}


def _outgoing(position: Positions, amount: Decimal, *, at: str) -> Effect:
    """Money leaving; it may have counted towards another open invoice of the engagement."""
    left = {at: -amount, chart.RECEIVABLES: amount}
    after = position.plus(left)
    might_go_back = max(after.received_net() - after.audit_billed, NOTHING)
    less = position.credit(chart.REFUND_LIABILITY) - might_go_back
    gone = max(position.received_net() - after.received_net(), NOTHING)
    fewer = min(max(less, NOTHING), gone)
    return left | {chart.FEES_DEFERRED: -fewer, chart.REFUND_LIABILITY: fewer}


def audit_earned(position: Positions, earned: Decimal) -> Effect:
    """Adjust the audit's revenue to `earned` (net)."""
    left = earned - position.credit(chart.AUDIT_REVENUE)
    effect = {chart.AUDIT_REVENUE: -left}
    if left > 0:
        for account in (chart.FEES_DEFERRED, chart.REFUND_LIABILITY):
            effect[account] = min(position.credit(account), left)
            left -= effect[account]
        return effect | {chart.AUDIT_UNBILLED: left}
    unbilled = min(position.debit(chart.AUDIT_UNBILLED), -left)
    return effect | {chart.AUDIT_UNBILLED: -unbilled, chart.REFUND_LIABILITY: left + unbilled}


def earned(position: Positions, *, unbilled: Decimal) -> Effect:
    """The target was met, or the contract terminated: the fee is revenue (see `REVENUE_RULE`).

    `unbilled` is the net that is due and not billed yet, the audit's included. What was
    credited of the audit, and is not billed again, no longer counts as its revenue.
    """
    deferred = position.credit(chart.FEES_DEFERRED)
    at_risk = position.credit(chart.REFUND_LIABILITY)
    rest = unbilled - position.debit(chart.AUDIT_UNBILLED)
    fee, forgone = max(rest, NOTHING), max(-rest, NOTHING)
    return {
        chart.FEES_DEFERRED: deferred,
        chart.REFUND_LIABILITY: at_risk,
        chart.FEES_UNBILLED: fee,
        chart.FEE_REVENUE: -deferred - at_risk - fee,
        chart.AUDIT_UNBILLED: -forgone,
        chart.AUDIT_REVENUE: forgone,
    }


def unmet(position: Positions) -> Effect:
    """A met target that the repeat of the run did not confirm: the fee is not earned.

    What was paid of it may have to be refunded; the rest is deferred, or was never billed.
    """
    revenue = position.credit(chart.FEE_REVENUE)
    unbilled = min(position.debit(chart.FEES_UNBILLED), revenue)
    billed_net = revenue - unbilled
    paid = max(position.received_net() - position.audit_billed, NOTHING)
    at_risk = min(paid, billed_net)
    return {
        chart.FEE_REVENUE: revenue,
        chart.FEES_UNBILLED: -unbilled,
        chart.REFUND_LIABILITY: -at_risk,
        chart.FEES_DEFERRED: at_risk - billed_net,
    }


def transferred(amount: Decimal) -> Effect:
    """A transfer in transit was executed; the bank line that shows it clears the suspense."""
    return moved(amount, source=chart.SUSPENSE, to=chart.TRANSFERS)


def returned(amount: Decimal) -> Effect:
    """The bank returned an executed transfer: the refund is payable again."""
    return moved(amount, source=chart.REFUND_PAYABLE, to=chart.SUSPENSE)


def returned_overpayment(position: Positions, amount: Decimal) -> Effect:
    """The bank returned an executed refund of an overpayment."""
    return _incoming(position, amount, at=chart.SUSPENSE)


def bank_line(amount: Decimal) -> Effect:
    """A line of a bank statement: negative for money out."""
    return moved(amount, source=chart.SUSPENSE, to=chart.BANK)


def moved(amount: Decimal, *, source: str, to: str) -> Effect:
    """Move `amount` from one account to another."""
    return {to: amount, source: -amount}
