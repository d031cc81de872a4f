"""Preconditions of a settlement, and the terms of a further one."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from django.utils import timezone

from engagements.billing.models import Invoice
from engagements.charges.models import Charge
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


class Terms(NamedTuple):
    """The note of a settlement, and the audit cost that it keeps (net; None: the contract's)."""

    note: str
    audit_cost: Decimal | None


def terms_of(
    contract: ContractVersion, reason: str, *, note: str, audit_cost: Decimal | None
) -> Terms:
    """Check the grounds for settling a contract in force, and return the terms.

    The caller holds the engagement's lock.
    """
    last_paid = _last_paid(contract)
    if reason == Reason.FURTHER:
        why = validation.text(note, noun="The reason for the further refund")
        return Terms(why, _further_audit_cost(contract, last_paid, audit_cost))
    if reason == Reason.AGREED:
        why = validation.text(note, noun="The agreement")
        return Terms(why, _agreed_audit_cost(contract, audit_cost))
    if note or audit_cost is not None:
        raise ApplicationError(
            "Only a further or agreed settlement has a note and its own audit cost.",
            code="settlement.terms_not_allowed",
        )
    if last_paid:
        raise ApplicationError(
            "This contract is settled: propose a further settlement.",
            code="settlement.already_settled",
        )
    engagement = contract.engagement
    if engagement.stage != Stage.ACTIVE or reason != Reason.TIME_BOX:
        lifecycle.require_stage(engagement, Stage.MISSED, to="for its contract to be settled")
    elif error := time_box_error(engagement):
        raise error
    _require_recorded(contract, reason)
    return Terms("", None)


def _require_recorded(contract: ContractVersion, reason: str) -> None:
    """Require the final attempt of a missed target, or the end for cause, proposed again."""
    runs = contract.engagement.runs
    if reason == Reason.MISSED and not runs.filter(final_at__isnull=False).exists():
        raise ApplicationError(
            "No attempt of this contract is final.", code="settlement.no_final_attempt"
        )
    ended = contract.settlements.filter(reason=reason, overturned_at__isnull=True)
    if reason == Reason.CAUSE and not ended.exists():
        raise ApplicationError(
            "The customer has not ended this contract for cause.", code="settlement.no_cause"
        )


def _agreed_audit_cost(contract: ContractVersion, audit_cost: Decimal | None) -> Decimal:
    """Return the audit cost (net) that both parties agreed to keep before the verdict."""
    lifecycle.require_stage(contract.engagement, Stage.ACTIVE, to="to be ended by agreement")
    if versions.open_acceptance_run(contract.engagement):
        raise ApplicationError(
            "An acceptance run is in progress. End the engagement when it has ended.",
            code="run.acceptance_in_progress",
        )
    kept = contract.audit_cost if audit_cost is None else audit_cost
    return _limited(kept, contract, contract.audit_cost)


def _limited(kept: Decimal, contract: ContractVersion, largest: Decimal) -> Decimal:
    kept = validation.amount(kept, contract.currency, noun="The audit cost")
    if not 0 <= kept <= largest:
        most = format_money(largest, contract.currency)
        raise ApplicationError(
            f"Enter an audit cost of at most {most}.", code="settlement.audit_cost_exceeded"
        )
    return kept


def default_audit_cost(contract: ContractVersion) -> Decimal:
    """Return the audit cost (net) that a settlement keeps unless it says otherwise."""
    last_paid = _last_paid(contract)
    return _kept_after(contract, last_paid) if last_paid else contract.audit_cost


def _kept_after(contract: ContractVersion, last_paid: Settlement) -> Decimal:
    """Return the audit cost (net) of the paid settlement, less what was credited since."""
    issued = Invoice.objects.filter(
        engagement=contract.engagement_id, charge__isnull=True, state=Invoice.State.ISSUED
    ).values_list("kind", "net")
    billed = sum(
        (-net if kind == Invoice.Kind.CREDIT_NOTE else net for kind, net in issued), Decimal(0)
    )
    return min(last_paid.audit_cost, billed) if billed >= 0 else Decimal(0)


def _last_paid(contract: ContractVersion) -> Settlement | None:
    return contract.settlements.filter(state=Settlement.State.PAID).first()


def time_box_error(engagement: Engagement) -> ApplicationError | None:
    """Return why the time-box does not end the engagement yet, or None."""
    ends_on = time_box.ends_on(engagement)
    if timezone.localdate() <= ends_on:
        return ApplicationError(
            f"The time-box runs until {in_words(ends_on)}.", code="settlement.time_box_running"
        )
    if versions.open_acceptance_run(engagement):
        return ApplicationError(
            "An acceptance run requested within the time-box has not ended.",
            code="settlement.run_open",
        )
    proposed = engagement.charges.filter(state=Charge.State.PROPOSED, kind__in=Charge.TERMINATIONS)
    if proposed.filter(ends_on__lte=ends_on).exists():
        return ApplicationError(
            "A termination within the time-box is recorded: confirm or void it first.",
            code="settlement.termination_proposed",
        )
    return None


def _further_audit_cost(
    contract: ContractVersion, last_paid: Settlement | None, audit_cost: Decimal | None
) -> Decimal:
    """Return the audit cost (net) that a further settlement keeps."""
    if last_paid is None:
        raise ApplicationError(
            "A further settlement needs a paid one before it.", code="settlement.none_paid"
        )
    stages = (Stage.MISSED, Stage.CLOSED)
    lifecycle.require_stage(contract.engagement, *stages, to="for a further settlement")
    kept = _kept_after(contract, last_paid) if audit_cost is None else audit_cost
    kept = _limited(kept, contract, last_paid.audit_cost)
    if preview(contract=contract, audit_cost=kept).refund <= 0:
        raise ApplicationError(
            "There is nothing more to refund.", code="settlement.nothing_to_refund"
        )
    return kept
