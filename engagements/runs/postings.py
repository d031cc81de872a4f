"""Ledger posting of a met target."""

from __future__ import annotations

from datetime import date

from engagements.contracts.models import ContractVersion
from engagements.ledger import effects
from engagements.ledger.models import Entry
from engagements.ledger.positions import positions_of
from engagements.ledger.posting import post_effect


def target_met(contract: ContractVersion, *, dated_on: date) -> Entry | None:
    """Recognise the fee as earned: it is no longer refundable."""
    position = positions_of(contract.engagement, contract.currency)
    key = f"{Entry.Kind.TARGET_MET}:contract:{contract.pk}"
    return post_effect(
        contract.engagement, position, effects.met(position), key=key, dated_on=dated_on
    )
