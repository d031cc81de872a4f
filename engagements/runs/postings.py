"""Ledger posting of a met target."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from django.db.models import Sum

from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.ledger import effects
from engagements.ledger.models import Entry
from engagements.ledger.positions import positions_of
from engagements.ledger.posting import post_effect


def target_met(contract: ContractVersion, *, dated_on: date) -> Entry | None:
    """Recognise the fee as revenue, billed or not (see `effects.REVENUE_RULE`)."""
    position = positions_of(contract.engagement, contract.currency)
    effect = effects.met(position, unbilled=_unbilled(contract))
    key = f"{Entry.Kind.TARGET_MET}:contract:{contract.pk}"
    return post_effect(contract.engagement, position, effect, key=key, dated_on=dated_on)


def _unbilled(contract: ContractVersion) -> Decimal:
    """The net of the engagement's agreed milestones that are not billed yet."""
    agreed = (ContractVersion.State.ACCEPTED, ContractVersion.State.SUPERSEDED)
    milestones = Milestone.objects.filter(
        contract_version__engagement=contract.engagement_id,
        contract_version__state__in=agreed,
        state__in=(Milestone.State.PENDING, Milestone.State.RELEASED),
    )
    return milestones.aggregate(total=Sum("amount"))["total"] or Decimal(0)
