"""Ledger postings of a settlement: proposed, approved, voided."""

from __future__ import annotations

from django.utils import timezone

from engagements.ledger import chart, effects
from engagements.ledger.effects import Effect
from engagements.ledger.models import Entry
from engagements.ledger.positions import Positions, positions_of
from engagements.ledger.posting import post_effect
from engagements.settlements.models import Settlement


def settlement_proposed(settlement: Settlement) -> Entry | None:
    """Post the audit cost that the settlement keeps as revenue."""
    position = settlement_position(settlement)
    effect = effects.audit_earned(position, settlement.audit_cost)
    return _post_settlement(settlement, Entry.Kind.SETTLEMENT_PROPOSED, position, effect)


def settlement_approved(settlement: Settlement) -> Entry | None:
    """Post the refund as payable."""
    effect = effects.moved(settlement.refund, source=chart.REFUND_PAYABLE, to=chart.RECEIVABLES)
    return _post_settlement(
        settlement, Entry.Kind.SETTLEMENT_APPROVED, settlement_position(settlement), effect
    )


def settlement_voided(settlement: Settlement) -> Entry | None:
    """Reverse the payable refund, and post the audit revenue of the contract again."""
    position = settlement_position(settlement)
    effect = dict(effects.audit_earned(position, settlement.contract_version.audit_cost))
    if settlement.approved_at is not None:
        reversal = effects.moved(
            settlement.refund, source=chart.RECEIVABLES, to=chart.REFUND_PAYABLE
        )
        effect |= reversal
    return _post_settlement(settlement, Entry.Kind.SETTLEMENT_VOIDED, position, effect)


def settlement_position(settlement: Settlement) -> Positions:
    """Return the ledger positions of the settlement's engagement in its currency."""
    return positions_of(settlement.contract_version.engagement, settlement.currency)


def _post_settlement(
    settlement: Settlement, kind: Entry.Kind, position: Positions, effect: Effect
) -> Entry | None:
    engagement = settlement.contract_version.engagement
    key = f"{kind}:settlement:{settlement.pk}"
    return post_effect(engagement, position, effect, key=key, dated_on=timezone.localdate())
