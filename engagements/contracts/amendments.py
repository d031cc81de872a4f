"""Amendments: a contract in force changes by a further version that both parties accept.

An amendment repeats every term and changes one thing: more time, a pause, the benchmark, the
price or who signs. What was released before stays with the version that released it; what is
pending moves into the new version. The old version stays readable, and runs keep the terms they
were asked for under.
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
from engagements.contracts import activation, drafting, versions
from engagements.contracts import services as contracts
from engagements.contracts import terms as terms_
from engagements.contracts.drafting import MilestoneDraft, PauseDraft, Sheet
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box.models import TimeBox
from engagements.engagement import stages
from engagements.engagement.models import Engagement, Stage
from engagements.event_log import events
from engagements.people.models import User
from engagements.people.signatories import signatories_of

Amendment = ContractVersion.Amendment
# The terms that an amendment repeats as they are in the version that it amends.
REPEATED = (
    "benchmark",
    "fee",
    "audit_cost",
    "currency",
    "tax_rate_percent",
    "tax_treatment",
    "tax_note",
    "payment_days",
    "dispute_days",
    "refund_days",
    "weeks",
    "starts_on",
    "target",
    "inconclusive",
    "signatory",
)


class Change(TypedDict, total=False):
    """What an amendment changes, one of them: `weeks` in all for more time, a `pause` (a further
    one, or in place of the one agreed from the same day on), another sealed `benchmark`, the
    whole new net `fee`, the `signatory` who alone signs from then on (None: any does)."""

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
    """Draft an amendment of the contract in force; it is offered and accepted like the first.

    `change` (a ContractVersion.Amendment) says which one of `to` is given. Of another fee the
    parts that are still pending take the difference, in proportion.
    """
    row = stages.locked(engagement.pk)
    access.require_consultant(by)
    sheet = _amended(row, change, reason, by, to)
    sheet.contract.valid_until = valid_until
    contract = drafting.write(sheet)
    events.record(
        engagement=row,
        verb="amendment.drafted",
        summary=f"Version {contract.number} of the contract was drafted: "
        f"{Amendment(change).label.lower()}.",
        actor=by,
        changes={"change": change, "reason": contract.amendment_reason}
        | drafting.figures(contract),
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
    """The terms that offering this amendment now would seal; nothing is written."""
    sheet = _amended(engagement, change, reason, by, to)
    sheet.contract.valid_until = valid_until
    validation.full_clean(sheet.contract)
    return terms_.compose(sheet)


def _amended(engagement: Engagement, change: str, reason: str, by: User, given: Change) -> Sheet:
    """The version in force, changed in one thing. Nothing is written."""
    stages.require_stage(engagement, Stage.ACTIVE, to="for its contract to be amended")
    amended = versions.contract_in_force(engagement)
    assert amended is not None  # an active engagement has one
    _require_one_change(change, given)
    contract = contracts.next_version(engagement, by)
    for name in REPEATED:
        setattr(contract, name, getattr(amended, name))
    if contract.signatory not in signatories_of(engagement.customer):
        # Who was named has left, or may sign no more: any of its signatories does.
        contract.signatory = None
    contract.amends, contract.amendment = amended, change
    contract.amendment_reason = validation.text(reason, noun="The reason for the amendment")
    contract.carried = activation.released_before(contract)
    before = drafting.stored(amended)
    pauses = [
        PauseDraft(row.starts_on, row.ends_on, row.waits_for, row.reason) for row in before.pauses
    ]
    if change == Amendment.MORE_TIME:
        _require_more(amended.weeks, given["weeks"])
        contract.weeks = given["weeks"]
    elif change == Amendment.PAUSE:
        pauses = _with_pause(engagement, given["pause"], pauses)
    elif change == Amendment.BENCHMARK:
        _change_benchmark(contract, given["benchmark"])
    elif change == Amendment.SIGNATORY:
        _change_signatory(contract, amended.signatory, given["signatory"])
    else:
        _change_fee(contract, given["fee"])
    pending = [row for row in before.milestones if row.state == Milestone.State.PENDING]
    return drafting.assemble(
        contract,
        milestones=_rest(contract, pending),
        clauses=before.clauses,
        pauses=pauses,
    )


def _require_one_change(change: str, given: Change) -> None:
    wanted = {
        Amendment.MORE_TIME: ("weeks", "how many weeks there are then in all"),
        Amendment.PAUSE: ("pause", "from when until when the clock stands still"),
        Amendment.BENCHMARK: ("benchmark", "which benchmark counts then"),
        Amendment.PRICE: ("fee", "what the fee is then"),
        Amendment.SIGNATORY: ("signatory", "who signs for the customer then"),
    }
    if change not in Amendment.values:
        raise ApplicationError(
            f"{change!r} is nothing that an amendment changes.", code="contracts.todo"
        )
    name, what = wanted[Amendment(change)]
    if set(given) != {name}:
        raise ApplicationError(
            f"“{Amendment(change).label}” says {what}, and changes nothing else.",
            code="contracts.todo",
        )


def _require_more(weeks: int, wanted: int) -> None:
    if wanted <= weeks:
        raise ApplicationError(
            f"The time-box has {weeks} weeks: more time is more than that.", code="contracts.todo"
        )


def _with_pause(
    engagement: Engagement, pause: PauseDraft, agreed: list[PauseDraft]
) -> list[PauseDraft]:
    """The pauses with a further one; from the same day on it takes the place of the one agreed,
    so that the clock runs again earlier or later."""
    others = [other for other in agreed if other.starts_on != pause.starts_on]
    _require_in_the_time_box(engagement, pause, others)
    replaced = [other for other in agreed if other.starts_on == pause.starts_on]
    if pause in replaced:
        raise ApplicationError("That pause is agreed already.", code="contracts.todo")
    yesterday = timezone.localdate() - timedelta(days=1)
    if any(pause.ends_on < min(other.ends_on, yesterday) for other in replaced):
        raise ApplicationError(
            "Days on which the clock has stood already stay: a pause ends today at best.",
            code="contracts.todo",
        )
    return sorted([*others, pause], key=lambda each: each.starts_on)


def _require_in_the_time_box(
    engagement: Engagement, pause: PauseDraft, agreed: list[PauseDraft]
) -> None:
    box = TimeBox.objects.get(engagement=engagement)
    if not box.starts_on <= pause.starts_on <= box.ends_on:
        raise ApplicationError(
            f"A pause starts inside the time-box, from {in_words(box.starts_on)} to "
            f"{in_words(box.ends_on)}.",
            code="contracts.todo",
        )
    if pause.ends_on < pause.starts_on:
        raise ApplicationError("A pause does not end before it starts.", code="contracts.todo")
    for other in agreed:
        if other.starts_on <= pause.ends_on and pause.starts_on <= other.ends_on:
            raise ApplicationError(
                f"The clock stands still from {in_words(other.starts_on)} to "
                f"{in_words(other.ends_on)} already.",
                code="contracts.todo",
            )


def _change_benchmark(contract: ContractVersion, benchmark: Benchmark) -> None:
    if benchmark == contract.benchmark:
        raise ApplicationError("That benchmark is the one in force.", code="contracts.todo")
    contract.benchmark = benchmark
    contract.target = Decimal(str(benchmark.document["target"]))


def _change_signatory(contract: ContractVersion, before: User | None, named: User | None) -> None:
    customer = contract.engagement.customer
    if named == before:
        raise ApplicationError(
            f"{named or 'Any signatory'} signs for {customer} already.", code="contracts.todo"
        )
    if named is not None and not access.may_sign(named, customer):
        raise ApplicationError(f"{named} may not sign for {customer}.", code="contracts.todo")
    contract.signatory = named


def _change_fee(contract: ContractVersion, fee: Decimal) -> None:
    fee = validation.amount(fee, contract.currency, noun="The fee")
    if fee == contract.fee:
        raise ApplicationError("That fee is the one in force.", code="contracts.todo")
    if fee <= contract.carried:
        kept = money.format_money(contract.carried, contract.currency)
        raise ApplicationError(
            f"{kept} of the fee was released already: the fee is more than that.",
            code="contracts.todo",
        )
    contract.fee = fee


def _rest(contract: ContractVersion, pending: list[Milestone]) -> list[MilestoneDraft]:
    """What is pending, sharing what the fee leaves in the proportion that it had."""
    rest = contract.fee - contract.carried
    if not pending:
        if rest:
            raise ApplicationError(
                "Every part of the fee was released: its price stays.", code="contracts.todo"
            )
        return []
    parts = money.allocate(rest, [row.amount for row in pending], contract.currency)
    return [
        MilestoneDraft(row.title, part, row.condition, due_on=row.due_on)
        for row, part in zip(pending, parts, strict=True)
    ]
