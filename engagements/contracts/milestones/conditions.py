"""Conditions that release milestones, each declared once.

A new condition is one entry of CONDITIONS and its line in ReleaseCondition: the sealed terms, the
portal, the worked example and the releases follow. It is released by the sweep within minutes;
for a release at once, call `release` where the condition comes true.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db.models import Q
from django.utils import timezone

from engagements.contracts.milestones.models import Milestone, ReleaseCondition
from engagements.contracts.models import ContractVersion
from engagements.engagement.models import Stage
from engagements.event_log.models import Event


@dataclass(frozen=True)
class Condition:
    """When milestones are released, and how contracts and the portal say so.

    `holds` filters milestones of versions in force. `released_when` is sealed into the terms,
    `customer_text` is for the portal. `precedes_verdict`: it comes true before any run is decided.
    `needs_day`: the milestone names its day.
    """

    holds: Callable[[], Q]
    released_when: str
    customer_text: str
    precedes_verdict: bool = False
    needs_day: bool = False


CONDITIONS: dict[ReleaseCondition, Condition] = {
    ReleaseCondition.SIGNED: Condition(
        holds=Q,
        released_when="both parties have signed this contract",
        customer_text="when both parties have signed the contract",
        precedes_verdict=True,
    ),
    ReleaseCondition.AUDIT_DELIVERED: Condition(
        holds=lambda: Q(contract_version__engagement__audit__delivered_at__isnull=False),
        released_when="the audit is delivered",
        customer_text="when the audit is delivered",
        precedes_verdict=True,
    ),
    ReleaseCondition.DATE: Condition(
        holds=lambda: Q(due_on__lte=timezone.localdate()),
        released_when="the day named is reached",
        customer_text="on the agreed day",
        needs_day=True,
    ),
    ReleaseCondition.TARGET_MET: Condition(
        holds=lambda: Q(contract_version__engagement__stage=Stage.MET),
        released_when="an acceptance run meets the target",
        customer_text="when the target is met",
    ),
    ReleaseCondition.HANDOVER: Condition(
        holds=lambda: Q(
            contract_version__engagement__in=Event.objects.filter(verb="handover.accepted").values(
                "engagement"
            )
        ),
        released_when="the customer has accepted the handover",
        customer_text="when you have accepted the handover",
    ),
}


def releasable() -> Q:
    """Pending milestones of versions in force whose condition holds now."""
    met = reduce(or_, (Q(condition=name) & each.holds() for name, each in CONDITIONS.items()))
    return met & Q(
        state=Milestone.State.PENDING,
        contract_version__state=ContractVersion.State.ACCEPTED,
    )
