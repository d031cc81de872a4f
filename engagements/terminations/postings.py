"""Ledger posting of a termination."""

from __future__ import annotations

from django.utils import timezone

from engagements.charges.models import Charge
from engagements.contracts.models import ContractVersion
from engagements.ledger import effects
from engagements.ledger.models import Entry
from engagements.ledger.positions import positions_of
from engagements.ledger.posting import post_effect
from engagements.runs.postings import unbilled_net


def terminated(charge: Charge, contract: ContractVersion) -> Entry | None:
    """Recognise the released milestones as revenue: nothing is refunded any more.

    The charge itself is revenue when it is billed.
    """
    engagement = charge.engagement
    position = positions_of(engagement, contract.currency)
    effect = effects.earned(position, unbilled=unbilled_net(contract))
    key = f"{Entry.Kind.TERMINATED}:charge:{charge.pk}"
    return post_effect(engagement, position, effect, key=key, dated_on=timezone.localdate())
