"""Whether there is ground to settle a contract, and what the settlement then keeps."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from django.utils import timezone

from engagements.days import in_words
from engagements.errors import Refused
from engagements.models import ContractVersion, Engagement, Settlement, Stage
from engagements.money import format_money
from engagements.services import checked, lifecycle, time_box
from engagements.services.calculations import preview

Reason = Settlement.Reason


class Ground(NamedTuple):
    """Why more goes back (of a further settlement), and what it keeps of the audit, net: None
    for what the contract says."""

    note: str
    audit_cost: Decimal | None


def ground(
    contract: ContractVersion, reason: str, *, note: str, audit_cost: Decimal | None
) -> Ground:
    """The ground for settling a contract (in force, its engagement locked); Refused without."""
    before = contract.settlements.filter(state=Settlement.State.PAID).first()
    if reason == Reason.FURTHER:
        why = checked.text(note, noun="Why more goes back")
        return Ground(why, _kept_further(contract, before, audit_cost))
    if before:
        raise Refused("This contract is settled: what goes back now is a further settlement.")
    engagement = contract.engagement
    if engagement.stage != Stage.ACTIVE or reason != Reason.TIME_BOX:
        lifecycle.require_stage(engagement, Stage.MISSED, to="for its contract to be settled")
    elif obstacle := time_box_obstacle(engagement):
        raise Refused(obstacle)
    return Ground("", None)


def time_box_obstacle(engagement: Engagement) -> str | None:
    """Why the time-box does not end the engagement yet; None when it does."""
    ends_on = time_box.ends_on(engagement)
    if timezone.localdate() <= ends_on:
        return f"The time-box runs until {in_words(ends_on)}."
    if lifecycle.open_acceptance_run(engagement):
        return "An acceptance run asked for inside the time-box is still going on."
    return None


def _kept_further(
    contract: ContractVersion, before: Settlement | None, audit_cost: Decimal | None
) -> Decimal:
    """What a further settlement keeps of the audit (net). Refused where nothing more goes back."""
    if before is None:
        raise Refused("A further settlement follows one that is paid.")
    stages = (Stage.MISSED, Stage.CLOSED)
    lifecycle.require_stage(contract.engagement, *stages, to="to be settled further")
    kept = before.audit_cost if audit_cost is None else audit_cost
    kept = checked.amount(kept, contract.currency, noun="What is kept of the audit")
    if not 0 <= kept <= before.audit_cost:
        most = format_money(before.audit_cost, contract.currency)
        raise Refused(f"At most {most}, which was kept before, is kept now.")
    if preview(contract=contract, audit_cost=kept).refund <= 0:
        raise Refused("Nothing more would go back.")
    return kept
