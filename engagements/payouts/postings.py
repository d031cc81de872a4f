"""Ledger postings of transfers: refunds of settlements and of overpayments.

Money that the bank moved is dated on its value date, or today if that month is closed.
"""

from __future__ import annotations

from datetime import date

from engagements.billing.postings import position_of
from engagements.engagement.models import Engagement
from engagements.ledger import chart, effects
from engagements.ledger.effects import Effect
from engagements.ledger.models import Entry
from engagements.ledger.positions import positions_of
from engagements.ledger.posting import open_day, post_effect
from engagements.payouts.match_models import TransferMatch
from engagements.payouts.models import Transfer
from engagements.payouts.overpayment_models import OverpaymentRefund
from engagements.settlements.postings import settlement_position


def overpayment_refund_paid(refund: OverpaymentRefund) -> Entry | None:
    """Post the bank's transfer of an overpayment, on its value date."""
    invoice = refund.invoice
    assert refund.valued_on is not None  # set when it was paid
    position = position_of(invoice)
    effect = effects.transferred(refund.amount)
    key = f"{Entry.Kind.OVERPAYMENT_REFUND_PAID}:overpayment_refund:{refund.pk}"
    day = open_day(refund.valued_on)
    return post_effect(invoice.engagement, position, effect, key=key, dated_on=day)


def settlement_paying(transfer: Transfer, *, dated_on: date) -> Entry | None:
    """Post a started transfer: the money counts as gone."""
    effect = effects.moved(transfer.amount, source=chart.TRANSFERS, to=chart.REFUND_PAYABLE)
    return _post_transfer(transfer, Entry.Kind.SETTLEMENT_PAYING, effect, dated_on)


def settlement_failed(transfer: Transfer, *, dated_on: date) -> Entry | None:
    """Post a failed transfer: the refund is payable again."""
    effect = effects.moved(transfer.amount, source=chart.REFUND_PAYABLE, to=chart.TRANSFERS)
    return _post_transfer(transfer, Entry.Kind.SETTLEMENT_FAILED, effect, dated_on)


def settlement_paid(transfer: Transfer) -> Entry | None:
    """Post the bank's transfer of a refund, on its value date."""
    assert transfer.valued_on is not None  # set when it was paid
    effect = effects.transferred(transfer.amount)
    return _post_transfer(transfer, Entry.Kind.SETTLEMENT_PAID, effect, transfer.valued_on)


def settlement_returned(transfer: Transfer, *, dated_on: date) -> Entry | None:
    """Post a paid refund that a bank line returns: it is payable again."""
    effect = effects.returned(transfer.amount)
    return _post_transfer(transfer, Entry.Kind.REFUND_RETURNED, effect, dated_on)


def overpayment_refund_returned(refund: OverpaymentRefund, *, dated_on: date) -> Entry | None:
    """Post a paid overpayment refund that a bank line returns to its invoice."""
    invoice = refund.invoice
    position = position_of(invoice)
    effect = effects.returned_overpayment(position, refund.amount)
    key = f"{Entry.Kind.REFUND_RETURNED}:overpayment_refund:{refund.pk}"
    day = open_day(dated_on)
    return post_effect(invoice.engagement, position, effect, key=key, dated_on=day)


def return_charged(match: TransferMatch, engagement: Engagement) -> Entry | None:
    """Post the bank's charge on a returned refund; its line shows the remainder."""
    line = match.line
    effect = effects.moved(match.charges, source=chart.SUSPENSE, to=chart.BANK_CHARGES)
    refund = match.overpayment_refund
    position = position_of(refund.invoice) if refund else positions_of(engagement, line.currency)
    key = f"{Entry.Kind.RETURN_CHARGED}:bank_line:{line.pk}:{match.pk}"
    day = open_day(line.valued_on)
    return post_effect(engagement, position, effect, key=key, dated_on=day)


def _post_transfer(
    transfer: Transfer, kind: Entry.Kind, effect: Effect, dated_on: date
) -> Entry | None:
    settlement = transfer.settlement
    key = f"{kind}:settlement:{settlement.pk}:{transfer.attempt}"
    engagement, day = settlement.contract_version.engagement, open_day(dated_on)
    return post_effect(engagement, settlement_position(settlement), effect, key=key, dated_on=day)
