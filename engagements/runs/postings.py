"""Ledger postings of a met target, and of one that a repeat did not confirm."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from django.db.models import Sum

from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.ledger import effects
from engagements.ledger.effects import Effect
from engagements.ledger.models import Entry
from engagements.ledger.positions import Positions, positions_of
from engagements.ledger.posting import post_effect


def target_met(contract: ContractVersion, *, dated_on: date) -> Entry | None:
    """Recognise the fee as revenue, billed or not (see `effects.REVENUE_RULE`)."""
    position = positions_of(contract.engagement, contract.currency)
    effect = effects.earned(position, unbilled=unbilled_net(contract))
    return _post(contract, Entry.Kind.TARGET_MET, position, effect, dated_on)


def target_unmet(contract: ContractVersion, *, dated_on: date) -> Entry | None:
    """Take back the revenue of a met target that the repeat did not confirm."""
    position = positions_of(contract.engagement, contract.currency)
    return _post(contract, Entry.Kind.TARGET_UNMET, position, effects.unmet(position), dated_on)


def _post(
    contract: ContractVersion, kind: Entry.Kind, position: Positions, effect: Effect, day: date
) -> Entry | None:
    # Met again after a repeat did not confirm it: once for each time.
    entries = Entry.objects.filter(engagement=contract.engagement, kind=Entry.Kind.TARGET_UNMET)
    key = f"{kind}:contract:{contract.pk}" + (f":{count}" if (count := entries.count()) else "")
    return post_effect(contract.engagement, position, effect, key=key, dated_on=day)


def unbilled_net(contract: ContractVersion) -> Decimal:
    """The net of the engagement's agreed milestones that are not billed yet."""
    agreed = (ContractVersion.State.ACCEPTED, ContractVersion.State.SUPERSEDED)
    milestones = Milestone.objects.filter(
        contract_version__engagement=contract.engagement_id,
        contract_version__state__in=agreed,
        state__in=(Milestone.State.PENDING, Milestone.State.RELEASED),
    )
    return milestones.aggregate(total=Sum("amount"))["total"] or Decimal(0)
