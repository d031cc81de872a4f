"""Amendments: a further version of the contract in force, accepted by both parties.

An amendment repeats every term and changes one: more time, a pause, the benchmark, the price or
the signatory. Released milestones stay with the version that released them; pending ones move to
the amendment. Earlier versions stay readable, and runs keep the terms they were requested under.
"""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any, TypedDict, Unpack

from django.db import transaction
from django.utils import timezone

from benchmarks.models import Benchmark
from engagements import access
from engagements.common import money, validation
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.contracts import drafting, versions
from engagements.contracts import services as contracts
from engagements.contracts import terms as contract_terms
from engagements.contracts.drafting import ContractDraft, MilestoneDraft, PauseDraft
from engagements.contracts.fields import FIELDS
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box.models import TimeBox
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people.models import User
from engagements.people.signatories import signatories_of

Amendment = ContractVersion.Amendment
# The argument that each kind of amendment takes, and no other.
ARGUMENT = {
    Amendment.MORE_TIME: "weeks",
    Amendment.PAUSE: "pause",
    Amendment.BENCHMARK: "benchmark",
    Amendment.PRICE: "fee",
    Amendment.SIGNATORY: "signatory",
}


class Change(TypedDict, total=False):
    """The new value of an amendment, one of: `weeks` in all, a `pause` (another one, or a new end
    for the one that starts on the same day), a sealed `benchmark`, the whole net `fee`, the sole
    `signatory` from then on (None: any signatory)."""

    weeks: int
    pause: PauseDraft
    benchmark: Benchmark
    fee: Decimal
    signatory: User | None


@transaction.atomic
def draft(
    *,
    engagement: Engagement,
    change: str,
    reason: str,
    by: User,
    valid_until: date | None = None,
    **to: Unpack[Change],
) -> ContractVersion:
    """Draft an amendment of the contract in force, to be offered and accepted like the first.

    `change` (a ContractVersion.Amendment) names the argument in `to`. Pending milestones share a
    new fee in proportion.
    """
    row = stages.locked(engagement.pk)
    access.require_consultant(by)
    amendment = _amended(row, change, reason, by, to)
    amendment.contract.valid_until = valid_until
    contract = drafting.write(amendment)
    events.record(
        engagement=row,
        verb="amendment.drafted",
        summary=f"Version {contract.number} of the contract was drafted: "
        f"{Amendment(change).label.lower()}.",
        actor=by,
        changes={"change": change, "reason": contract.amendment_reason}
        | drafting.logged_terms(contract),
    )
    return contract


def preview(
    *,
    engagement: Engagement,
    change: str,
    reason: str,
    by: User,
    valid_until: date | None = None,
    **to: Unpack[Change],
) -> dict[str, Any]:
    """The terms that offering this amendment now would seal. Nothing is written."""
    amendment = _amended(engagement, change, reason, by, to)
    amendment.contract.valid_until = valid_until
    validation.full_clean(amendment.contract)
    return contract_terms.compose(amendment)


def _amended(
    engagement: Engagement, change: str, reason: str, by: User, to: Change
) -> ContractDraft:
    """The version in force with one change. Nothing is written."""
    stages.require_stage(engagement, Stage.ACTIVE, to="for its contract to be amended")
    amended = versions.contract_in_force(engagement)
    assert amended is not None  # an active engagement has one
    _require_its_argument(change, to)
    contract = contracts.next_version(engagement, by)
    for each in FIELDS:
        if each.is_repeated:
            setattr(contract, each.name, getattr(amended, each.name))
    if contract.signatory not in signatories_of(engagement.customer):
        # The person left or lost the right to sign.
        contract.signatory = None
    contract.amends, contract.amendment = amended, change
    contract.amendment_reason = validation.text(reason, noun="The reason for the amendment")
    contract.previously_released = contract_terms.released_amount(contract)
    before = drafting.stored(amended)
    pauses = [
        PauseDraft(row.starts_on, row.ends_on, row.waits_for, row.reason) for row in before.pauses
    ]
    if change == Amendment.MORE_TIME:
        _require_more(amended.weeks, to["weeks"])
        contract.weeks = to["weeks"]
    elif change == Amendment.PAUSE:
        pauses = _with_pause(engagement, to["pause"], pauses)
    elif change == Amendment.BENCHMARK:
        _change_benchmark(contract, to["benchmark"])
    elif change == Amendment.SIGNATORY:
        _change_signatory(contract, amended.signatory, to["signatory"])
    else:
        _change_fee(contract, to["fee"])
    pending = [row for row in before.milestones if row.state == Milestone.State.PENDING]
    return drafting.assemble(
        contract,
        milestones=_pending(contract, pending),
        clauses=before.clauses,
        pauses=pauses,
    )


def _require_its_argument(change: str, to: Change) -> None:
    if change not in Amendment.values:
        raise ApplicationError(
            f"An amendment cannot change {change!r}.", code="amendment.unknown_change"
        )
    name = ARGUMENT[Amendment(change)]
    if set(to) != {name}:
        raise ApplicationError(
            f"An amendment of “{Amendment(change).label}” takes {name} and nothing else.",
            code="amendment.other_argument",
        )


def _require_more(weeks: int, wanted: int) -> None:
    if wanted <= weeks:
        raise ApplicationError(
            f"Enter more than the current {weeks} weeks.", code="amendment.not_more_time"
        )


def _with_pause(
    engagement: Engagement, pause: PauseDraft, agreed: list[PauseDraft]
) -> list[PauseDraft]:
    """The agreed pauses and `pause`, which replaces one that starts on the same day."""
    others = [other for other in agreed if other.starts_on != pause.starts_on]
    _require_in_the_time_box(engagement, pause, others)
    replaced = [other for other in agreed if other.starts_on == pause.starts_on]
    if pause in replaced:
        raise ApplicationError("This pause has been agreed.", code="pause.unchanged")
    yesterday = timezone.localdate() - timedelta(days=1)
    if any(pause.ends_on < min(other.ends_on, yesterday) for other in replaced):
        raise ApplicationError(
            "Past days of a pause remain paused. End it yesterday or later.",
            code="pause.ends_in_the_past",
        )
    return sorted([*others, pause], key=lambda each: each.starts_on)


def _require_in_the_time_box(
    engagement: Engagement, pause: PauseDraft, agreed: list[PauseDraft]
) -> None:
    box = TimeBox.objects.get(engagement=engagement)
    if not box.starts_on <= pause.starts_on <= box.ends_on:
        raise ApplicationError(
            f"Start the pause inside the time-box: {in_words(box.starts_on)} to "
            f"{in_words(box.ends_on)}.",
            code="pause.outside_time_box",
        )
    if pause.ends_on < pause.starts_on:
        raise ApplicationError(
            "The pause ends before it starts. Correct its days.", code="pause.ends_before_start"
        )
    for other in agreed:
        if other.starts_on <= pause.ends_on and pause.starts_on <= other.ends_on:
            raise ApplicationError(
                f"This overlaps the pause from {in_words(other.starts_on)} to "
                f"{in_words(other.ends_on)}.",
                code="pause.overlaps",
            )


def _change_benchmark(contract: ContractVersion, benchmark: Benchmark) -> None:
    if benchmark == contract.benchmark:
        raise ApplicationError(
            "This is the benchmark in force. Choose another.", code="amendment.unchanged"
        )
    contract.benchmark = benchmark
    contract.target = Decimal(str(benchmark.document["target"]))


def _change_signatory(contract: ContractVersion, before: User | None, named: User | None) -> None:
    customer = contract.engagement.customer
    if named == before:
        raise ApplicationError(
            f"{named or 'Any signatory'} signs for {customer} now. Choose another.",
            code="amendment.unchanged",
        )
    if named is not None and not access.may_sign(named, customer):
        raise ApplicationError(
            f"{named} may not sign for {customer}.", code="contract.not_a_signatory"
        )
    contract.signatory = named


def _change_fee(contract: ContractVersion, fee: Decimal) -> None:
    fee = validation.amount(fee, contract.currency, noun="The fee")
    if fee == contract.fee:
        raise ApplicationError(
            "This is the fee in force. Enter another.", code="amendment.unchanged"
        )
    if fee <= contract.previously_released:
        released = money.format_money(contract.previously_released, contract.currency)
        raise ApplicationError(
            f"Enter more than {released}, the part of the fee that has been released.",
            code="amendment.fee_released",
        )
    contract.fee = fee


def _pending(contract: ContractVersion, pending: list[Milestone]) -> list[MilestoneDraft]:
    """The pending milestones, with the unreleased fee divided in their proportion."""
    rest = contract.fee - contract.previously_released
    if not pending:
        if rest:
            raise ApplicationError(
                "The whole fee has been released; its amount cannot change.",
                code="amendment.nothing_pending",
            )
        return []
    parts = money.allocate(rest, [row.amount for row in pending], contract.currency)
    return [
        MilestoneDraft(row.title, part, row.condition, due_on=row.due_on)
        for row, part in zip(pending, parts, strict=True)
    ]
