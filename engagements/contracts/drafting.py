"""A version of the contract with its parts, put together and checked before it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import NotRequired, TypedDict

from django.utils import timezone

from benchmarks.models import Benchmark
from engagements.audit.models import Audit
from engagements.common import money, validation
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.common.ratios import agreed
from engagements.common.text import strip_invisible
from engagements.contracts.clauses.models import Clause, ContractClause
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box.models import Pause
from engagements.people.models import User

# Three times 33.33 is a third each.
SHARES_MAY_MISS = Decimal("0.1")
# A time-box has ten weeks: what is to happen later than this is a slip of the hand.
FURTHEST = timedelta(days=3 * 365)


class Figures(TypedDict):
    """The terms but for their parts. Amounts are net, in `currency`."""

    benchmark: Benchmark
    fee: Decimal
    audit_cost: Decimal
    currency: str
    tax_rate_percent: Decimal
    weeks: int
    starts_on: date
    target: Decimal
    inconclusive: str
    tax_treatment: NotRequired[str]
    tax_note: NotRequired[str]
    payment_days: NotRequired[int]
    dispute_days: NotRequired[int]
    refund_days: NotRequired[int | None]
    valid_until: NotRequired[date | None]
    signatory: NotRequired[User | None]


@dataclass(frozen=True)
class MilestoneDraft:
    """A part of the fee and the condition (a ReleaseCondition) that it waits for.

    Either a net `amount`, or a `share` in percent of what the amounts leave of the fee: shares
    come to 100 and divide it by largest remainder, so that nothing is left over; three times
    33.33 is a third each. `due_on` is the day that the condition `date` names.
    """

    title: str
    amount: Decimal | None
    condition: str
    share: Decimal | None = None
    due_on: date | None = None


@dataclass(frozen=True)
class PauseDraft:
    """Days on which the clock stands still, both included: who is waited for, and why."""

    starts_on: date
    ends_on: date
    waits_for: str
    reason: str


@dataclass
class Sheet:
    """A version with its parts, as they stand or as they would be written."""

    contract: ContractVersion
    milestones: list[Milestone]
    clauses: list[Clause]
    pauses: list[Pause]


def stored(contract: ContractVersion) -> Sheet:
    """A version as it is stored."""
    clauses = contract.clauses.select_related("clause").order_by("position")
    return Sheet(
        contract=contract,
        milestones=list(contract.milestones.order_by("position")),
        clauses=[row.clause for row in clauses],
        pauses=list(contract.pauses.order_by("starts_on")),
    )


def assemble(
    contract: ContractVersion,
    *,
    milestones: Sequence[MilestoneDraft],
    clauses: Sequence[Clause],
    pauses: Sequence[PauseDraft] = (),
) -> Sheet:
    """Put `contract`, with its figures set, together with its parts. Nothing is written.

    Refused when the parts do not come to the fee exactly, or the terms contradict what was
    audited or sealed before.
    """
    currency = contract.currency
    contract.fee = validation.amount(contract.fee, currency, noun="The fee")
    contract.audit_cost = validation.amount(contract.audit_cost, currency, noun="The audit cost")
    contract.tax_note = strip_invisible(contract.tax_note)
    rows = [
        Milestone(
            position=position,
            title=validation.text(part.title, noun=f"The title of milestone {position}"),
            amount=amount,
            share=part.share,
            condition=part.condition,
            due_on=part.due_on,
        )
        for position, (part, amount) in enumerate(
            zip(milestones, _amounts(contract, milestones), strict=True), start=1
        )
    ]
    sheet = Sheet(contract, rows, list(clauses), [_pause(each) for each in pauses])
    check(sheet)
    return sheet


def write(sheet: Sheet) -> ContractVersion:
    """Write a sheet down, in place of what its draft had before."""
    contract = sheet.contract
    validation.save_validated(contract)
    for earlier in (contract.milestones, contract.clauses, contract.pauses):
        earlier.all().delete()
    for milestone in sheet.milestones:
        milestone.contract_version = contract
        validation.save_validated(milestone)
    for pause in sheet.pauses:
        pause.contract_version = contract
        validation.save_validated(pause)
    for position, clause in enumerate(sheet.clauses, start=1):
        validation.save_validated(
            ContractClause(contract_version=contract, clause=clause, position=position)
        )
    return contract


def check(sheet: Sheet) -> None:
    """What the terms have to agree with, outside their own rows."""
    contract = sheet.contract
    total = sum((row.amount for row in sheet.milestones), contract.carried)
    if total != contract.fee:
        raise ApplicationError(
            f"The milestones add up to {total:f}, the fee is {contract.fee:f} {contract.currency}.",
            code="contracts.todo",
        )
    if any(row.amount <= 0 for row in sheet.milestones):
        raise ApplicationError("A milestone is worth more than nothing.", code="contracts.todo")
    audit = Audit.objects.get(engagement=contract.engagement)
    if contract.currency != audit.currency:
        raise ApplicationError(
            f"The audit was priced in {audit.currency}, and so is the contract.",
            code="contracts.todo",
        )
    if contract.audit_cost > audit.cost:
        raise ApplicationError(
            f"The audit cost that is kept is at most what the audit was priced at, {audit.cost:f}.",
            code="contracts.todo",
        )
    sealed = Decimal(str(contract.benchmark.document["target"]))
    if sealed != contract.target:
        raise ApplicationError(
            f"The benchmark is sealed with a target of {agreed(sealed)}; the contract says "
            f"{agreed(contract.target)}. They have to be the same.",
            code="contracts.todo",
        )
    _require_days_within_reach(sheet)


def figures(contract: ContractVersion) -> dict[str, str]:
    """What of the stored terms the event log keeps."""
    sheet, currency = stored(contract), contract.currency
    return {
        "fee": money.plain(contract.fee, currency),
        "audit_cost": money.plain(contract.audit_cost, currency),
        "currency": currency,
        "tax_rate_percent": f"{Decimal(contract.tax_rate_percent):.2f}",
        "tax_treatment": str(contract.tax_treatment),
        "payment_days": str(contract.payment_days),
        "dispute_days": str(contract.dispute_days),
        "refund_days": str(contract.refund_days or ""),
        "weeks": str(contract.weeks),
        "starts_on": contract.starts_on.isoformat(),
        "valid_until": contract.valid_until.isoformat() if contract.valid_until else "",
        "signatory": str(contract.signatory or ""),
        "target": f"{contract.target:.2f}",
        "inconclusive": str(contract.inconclusive),
        "benchmark": contract.benchmark.digest,
        "milestones": "; ".join(
            f"{row.title}: {money.plain(row.amount, currency)} ({row.condition})"
            for row in sheet.milestones
        ),
        "pauses": "; ".join(str(pause) for pause in sheet.pauses),
        "clauses": "; ".join(f"{row.slug} {row.number}" for row in sheet.clauses),
    }


def _require_days_within_reach(sheet: Sheet) -> None:
    named = [sheet.contract.starts_on, *(pause.ends_on for pause in sheet.pauses)]
    named += [row.due_on for row in sheet.milestones if row.due_on is not None]
    furthest = max(named)
    if furthest > timezone.localdate() + FURTHEST:
        raise ApplicationError(
            f"{in_words(furthest)} is more than three years away: look at the year.",
            code="contracts.todo",
        )


def _amounts(contract: ContractVersion, drafts: Sequence[MilestoneDraft]) -> list[Decimal]:
    """Every milestone's net amount; shares divide what the fixed amounts leave of the fee."""
    currency = contract.currency
    fixed: dict[int, Decimal] = {}
    shares: dict[int, Decimal] = {}
    for index, part in enumerate(drafts):
        if (part.amount is None) is (part.share is None):
            raise ApplicationError(
                f"“{part.title}” is either an amount or a share of the fee.", code="contracts.todo"
            )
        if part.amount is not None:
            fixed[index] = validation.amount(part.amount, currency, noun=f"“{part.title}”")
        elif part.share is not None:
            if not part.share.is_finite() or part.share <= 0:
                raise ApplicationError(
                    f"“{part.title}”: a share is more than nothing.", code="contracts.todo"
                )
            shares[index] = part.share
    if shares:
        whole = sum(shares.values(), Decimal(0))
        if abs(whole - 100) > SHARES_MAY_MISS:
            raise ApplicationError(
                f"The shares come to {whole.normalize():f}%, not to 100%.", code="contracts.todo"
            )
        rest = contract.fee - contract.carried - sum(fixed.values(), Decimal(0))
        if rest <= 0:
            raise ApplicationError(
                "The amounts leave nothing of the fee for the shares to divide.",
                code="contracts.todo",
            )
        parts = money.allocate(rest, list(shares.values()), currency)
        fixed |= dict(zip(shares, parts, strict=True))
    return [fixed[index] for index in range(len(drafts))]


def _pause(draft: PauseDraft) -> Pause:
    return Pause(
        starts_on=draft.starts_on,
        ends_on=draft.ends_on,
        waits_for=validation.text(draft.waits_for, noun="Who is waited for"),
        reason=validation.text(draft.reason, noun="The reason for the pause"),
    )
