"""Ledger postings of transfers: refunds of settlements and of overpayments."""

from __future__ import annotations

from django.utils import timezone

from engagements.ledger import chart, effects
from engagements.ledger.effects import Effect
from engagements.ledger.models import Entry
from engagements.ledger.positions import positions_of
from engagements.ledger.posting import post_effect
from engagements.payouts.models import OverpaymentRefund, Transfer
from engagements.settlements.postings import settlement_position


def overpayment_refund_paid(refund: OverpaymentRefund) -> Entry | None:
    """Post the bank's transfer of an overpayment."""
    invoice = refund.invoice
    position = positions_of(invoice.engagement, invoice.currency)
    effect = effects.transferred(refund.amount)
    key = f"{Entry.Kind.OVERPAYMENT_REFUND_PAID}:overpayment_refund:{refund.pk}"
    return post_effect(invoice.engagement, position, effect, key=key, dated_on=timezone.localdate())


def settlement_paying(transfer: Transfer) -> Entry | None:
    """Post a started transfer: the money counts as gone."""
    effect = effects.moved(transfer.amount, source=chart.TRANSFERS, to=chart.REFUND_PAYABLE)
    return _post_transfer(transfer, Entry.Kind.SETTLEMENT_PAYING, effect)


def settlement_failed(transfer: Transfer) -> Entry | None:
    """Post a failed transfer: the refund is payable again."""
    effect = effects.moved(transfer.amount, source=chart.REFUND_PAYABLE, to=chart.TRANSFERS)
    return _post_transfer(transfer, Entry.Kind.SETTLEMENT_FAILED, effect)


def settlement_paid(transfer: Transfer) -> Entry | None:
    """Post the bank's transfer of a refund."""
    return _post_transfer(
        transfer, Entry.Kind.SETTLEMENT_PAID, effects.transferred(transfer.amount)
    )


def settlement_returned(transfer: Transfer) -> Entry | None:
    """Post a paid refund that a bank line returns: it is payable again."""
    return _post_transfer(transfer, Entry.Kind.REFUND_RETURNED, effects.returned(transfer.amount))


def overpayment_refund_returned(refund: OverpaymentRefund) -> Entry | None:
    """Post a paid overpayment refund that a bank line returns to its invoice."""
    invoice = refund.invoice
    position = positions_of(invoice.engagement, invoice.currency)
    effect = effects.returned_overpayment(position, refund.amount)
    key = f"{Entry.Kind.REFUND_RETURNED}:overpayment_refund:{refund.pk}"
    return post_effect(invoice.engagement, position, effect, key=key, dated_on=timezone.localdate())


def _post_transfer(transfer: Transfer, kind: Entry.Kind, effect: Effect) -> Entry | None:
    settlement = transfer.settlement
    key = f"{kind}:settlement:{settlement.pk}:{transfer.attempt}"
    engagement, day = settlement.contract_version.engagement, timezone.localdate()
    return post_effect(engagement, settlement_position(settlement), effect, key=key, dated_on=day)
