"""What each business fact does to an engagement's accounts: legs, computed from where they stand.

Pure arithmetic: the postings write it down, and the preview of a settlement shows it before.
Every function answers amounts by account, debit positive, credit negative, adding up to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from engagements.ledger import chart
from engagements.ledger.positions import Positions

Effect = Mapping[str, Decimal]
NOTHING = Decimal(0)


def billed(position: Positions, *, net: Decimal, tax: Decimal, is_met: bool) -> Effect:
    """The customer owes the gross; the net is deferred, or earned where it was already."""
    audit = min(position.debit(chart.AUDIT_UNBILLED), net)
    return {
        chart.RECEIVABLES: net + tax,
        chart.AUDIT_UNBILLED: -audit,
        chart.FEE_REVENUE if is_met else chart.FEES_DEFERRED: audit - net,
        chart.OUTPUT_TAX: -tax,
    }


def credited(position: Positions, *, net: Decimal, tax: Decimal) -> Effect:
    """The customer owes less, or gets it back: what was not received first, the audit last."""
    effect = {chart.RECEIVABLES: -net - tax, chart.OUTPUT_TAX: tax}
    left = net
    for account in (chart.FEES_DEFERRED, chart.REFUND_LIABILITY, chart.FEE_REVENUE):
        effect[account] = min(position.credit(account), left)
        left -= effect[account]
    # What is left had covered the audit, which is earned and not billed any more.
    return effect | {chart.AUDIT_UNBILLED: left}


def received(position: Positions, amount: Decimal) -> Effect:
    """Money is in the bank; what of it does not cover the audit might go back."""
    return _arrived(position, amount, at=chart.BANK)


def moved_in(position: Positions, amount: Decimal) -> Effect:
    """What was too much for another engagement has arrived, as money does."""
    return _arrived(position, amount, at=chart.MOVED_PAYMENTS)


def moved_out(position: Positions, amount: Decimal) -> Effect:
    """What was too much is another engagement's."""
    return _left(position, amount, at=chart.MOVED_PAYMENTS)


def paid_back(position: Positions, amount: Decimal) -> Effect:
    """What was too much is on its way back: the money counts as gone."""
    return _left(position, amount, at=chart.TRANSFERS)


def came_back(position: Positions, amount: Decimal) -> Effect:
    """The bank did not transfer what was too much: it is there as it was received."""
    return _arrived(position, amount, at=chart.TRANSFERS)


def _arrived(position: Positions, amount: Decimal, *, at: str) -> Effect:
    arrived = {at: amount, chart.RECEIVABLES: -amount}
    after = position.plus(arrived)
    might_go_back = max(after.received_net() - after.audit_billed, NOTHING)
    more = might_go_back - position.credit(chart.REFUND_LIABILITY)
    # After the verdict nothing is deferred, and so nothing might go back any more.
    moved = min(max(more, NOTHING), position.credit(chart.FEES_DEFERRED))
    return arrived | {chart.FEES_DEFERRED: moved, chart.REFUND_LIABILITY: -moved}


def _left(position: Positions, amount: Decimal, *, at: str) -> Effect:
    """Where another invoice of the engagement is open, the money had counted towards it."""
    left = {at: -amount, chart.RECEIVABLES: amount}
    after = position.plus(left)
    might_go_back = max(after.received_net() - after.audit_billed, NOTHING)
    less = position.credit(chart.REFUND_LIABILITY) - might_go_back
    fewer = min(max(less, NOTHING), position.received_net() - after.received_net())
    return left | {chart.FEES_DEFERRED: -fewer, chart.REFUND_LIABILITY: fewer}


def audit_earned(position: Positions, earned: Decimal) -> Effect:
    """The audit's revenue becomes `earned` (net): more than it was, or less."""
    left = earned - position.credit(chart.AUDIT_REVENUE)
    effect = {chart.AUDIT_REVENUE: -left}
    if left > 0:
        for account in (chart.FEES_DEFERRED, chart.REFUND_LIABILITY):
            effect[account] = min(position.credit(account), left)
            left -= effect[account]
        return effect | {chart.AUDIT_UNBILLED: left}
    unbilled = min(position.debit(chart.AUDIT_UNBILLED), -left)
    return effect | {chart.AUDIT_UNBILLED: -unbilled, chart.REFUND_LIABILITY: left + unbilled}


def met(position: Positions) -> Effect:
    """Nothing goes back any more: what was billed so far is revenue."""
    deferred = position.credit(chart.FEES_DEFERRED)
    at_risk = position.credit(chart.REFUND_LIABILITY)
    return {
        chart.FEES_DEFERRED: deferred,
        chart.REFUND_LIABILITY: at_risk,
        chart.FEE_REVENUE: -deferred - at_risk,
    }


def transferred(amount: Decimal) -> Effect:
    """The bank has made a transfer that was on its way."""
    return moved(amount, source=chart.BANK, to=chart.TRANSFERS)


def moved(amount: Decimal, *, source: str, to: str) -> Effect:
    """`amount` (positive) is taken out of one account into another."""
    return {to: amount, source: -amount}
