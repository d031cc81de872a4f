"""Whether there is ground to settle a contract, and what the settlement then keeps."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from django.utils import timezone

from engagements.common import validation
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.contracts import versions
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box import services as time_box
from engagements.engagement import stages as lifecycle
from engagements.engagement.models import Engagement, Stage
from engagements.settlements.calculation import preview
from engagements.settlements.models import Settlement

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
        why = validation.text(note, noun="Why more goes back")
        return Ground(why, _kept_further(contract, before, audit_cost))
    if before:
        raise ApplicationError(
            "This contract is settled: what goes back now is a further settlement.",
            code="settlements.todo",
        )
    engagement = contract.engagement
    if engagement.stage != Stage.ACTIVE or reason != Reason.TIME_BOX:
        lifecycle.require_stage(engagement, Stage.MISSED, to="for its contract to be settled")
    elif obstacle := time_box_obstacle(engagement):
        raise ApplicationError(obstacle, code="settlements.todo")
    return Ground("", None)


def time_box_obstacle(engagement: Engagement) -> str | None:
    """Why the time-box does not end the engagement yet; None when it does."""
    ends_on = time_box.ends_on(engagement)
    if timezone.localdate() <= ends_on:
        return f"The time-box runs until {in_words(ends_on)}."
    if versions.open_acceptance_run(engagement):
        return "An acceptance run asked for inside the time-box is still going on."
    return None


def _kept_further(
    contract: ContractVersion, before: Settlement | None, audit_cost: Decimal | None
) -> Decimal:
    """What a further settlement keeps of the audit (net). Refused where nothing more goes back."""
    if before is None:
        raise ApplicationError(
            "A further settlement follows one that is paid.", code="settlements.todo"
        )
    stages = (Stage.MISSED, Stage.CLOSED)
    lifecycle.require_stage(contract.engagement, *stages, to="to be settled further")
    kept = before.audit_cost if audit_cost is None else audit_cost
    kept = validation.amount(kept, contract.currency, noun="What is kept of the audit")
    if not 0 <= kept <= before.audit_cost:
        most = format_money(before.audit_cost, contract.currency)
        raise ApplicationError(
            f"At most {most}, which was kept before, is kept now.", code="settlements.todo"
        )
    if preview(contract=contract, audit_cost=kept).refund <= 0:
        raise ApplicationError("Nothing more would go back.", code="settlements.todo")
    return kept
