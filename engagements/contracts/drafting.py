"""A version of the contract with its parts, assembled and checked before it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from engagements.audit.models import Audit
from engagements.benchmark.queries import require_usable
from engagements.common import money, validation
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.common.ratios import agreed
from engagements.common.text import strip_invisible
from engagements.contracts import vat
from engagements.contracts.clauses.models import Clause, ContractClause
from engagements.contracts.fields import FIELDS
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import ContractVersion
from engagements.contracts.time_box.models import Pause

# Three times 33.33 is a third each.
SHARE_TOLERANCE = Decimal("0.1")
# A time-box has ten weeks at most: a later day is a typing error.
FURTHEST = timedelta(days=3 * 365)


@dataclass(frozen=True)
class MilestoneDraft:
    """A part of the fee and its release condition (a ReleaseCondition).

    Either a net `amount`, or a `share` in percent of the fee less all amounts: shares add up to
    100 and are divided by largest remainder; three times 33.33 is a third each. `due_on` is the
    day of the condition `date`.
    """

    title: str
    amount: Decimal | None
    condition: str
    share: Decimal | None = None
    due_on: date | None = None


@dataclass(frozen=True)
class PauseDraft:
    """A pause of the clock, both days included: the awaited party and the reason."""

    starts_on: date
    ends_on: date
    waits_for: str
    reason: str


@dataclass
class ContractDraft:
    """A version with its parts, as stored or as they would be written."""

    contract: ContractVersion
    milestones: list[Milestone]
    clauses: list[Clause]
    pauses: list[Pause]


def stored(contract: ContractVersion) -> ContractDraft:
    """A version with its parts, as stored."""
    clauses = contract.clauses.select_related("clause").order_by("position")
    return ContractDraft(
        contract=contract,
        milestones=list(contract.milestones.order_by("position")),
        clauses=[row.clause for row in clauses],
        pauses=list(contract.pauses.order_by("starts_on")),
    )


def set_terms(contract: ContractVersion, values: Mapping[str, Any]) -> ContractVersion:
    """Set terms of a draft by their names in FIELDS. Raises TypeError for an unknown name."""
    unknown = set(values) - {each.name for each in FIELDS}
    if unknown:
        raise TypeError(f"A contract has no terms named {sorted(unknown)}.")
    for name, value in values.items():
        setattr(contract, name, value)
    return contract


def assemble(
    contract: ContractVersion,
    *,
    milestones: Sequence[MilestoneDraft],
    clauses: Sequence[Clause],
    pauses: Sequence[PauseDraft] = (),
) -> ContractDraft:
    """Combine `contract`, its terms set, with its parts. Nothing is written.

    Raises ApplicationError when the milestones do not add up to the fee, or the terms contradict
    the audit or the sealed benchmark.
    """
    currency = contract.currency
    contract.fee = validation.amount(contract.fee, currency, noun="The fee")
    contract.audit_cost = validation.amount(contract.audit_cost, currency, noun="The audit cost")
    if contract.maintenance_fee is not None:
        contract.maintenance_fee = validation.amount(
            contract.maintenance_fee, currency, noun="The maintenance fee"
        )
    contract.tax_note = strip_invisible(contract.tax_note)
    for name in ("special_terms", "excluded_library", "exclusion_reason"):
        setattr(contract, name, strip_invisible(getattr(contract, name)))
    vat.require_reason(contract.tax_treatment, contract.tax_rate_percent)
    vat.require_sentence(contract.tax_treatment, contract.tax_note)
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
    draft = ContractDraft(contract, rows, list(clauses), [_pause(each) for each in pauses])
    check(draft)
    return draft


def write(draft: ContractDraft) -> ContractVersion:
    """Save a draft and replace its stored parts."""
    contract = draft.contract
    validation.save_validated(contract)
    for earlier in (contract.milestones, contract.clauses, contract.pauses):
        earlier.all().delete()
    parts: list[Milestone | Pause] = [*draft.milestones, *draft.pauses]
    for part in parts:
        part.contract_version = contract
        validation.save_validated(part)
    ContractClause.objects.bulk_create(
        ContractClause(contract_version=contract, clause=clause, position=position)
        for position, clause in enumerate(draft.clauses, start=1)
    )
    return contract


def check(draft: ContractDraft) -> None:
    """Check the terms against their milestones, the audit and the benchmark."""
    contract = draft.contract
    total = sum((row.amount for row in draft.milestones), contract.previously_released)
    if total != contract.fee:
        raise ApplicationError(
            f"The milestones add up to {total:f}, the fee is {contract.fee:f} {contract.currency}.",
            code="contract.milestones_not_fee",
        )
    if any(row.amount <= 0 for row in draft.milestones):
        raise ApplicationError(
            "Enter an amount above 0 for every milestone.", code="milestone.not_positive"
        )
    require_usable(contract.engagement, contract.benchmark)
    audit = Audit.objects.get(engagement=contract.engagement)
    if contract.currency != audit.currency:
        raise ApplicationError(
            f"The audit is priced in {audit.currency}; use the same currency.",
            code="contract.other_currency",
        )
    if contract.audit_cost > audit.cost:
        raise ApplicationError(
            f"The audit cost must not exceed the price of the audit, {audit.cost:f}.",
            code="contract.audit_cost_too_high",
        )
    sealed = Decimal(str(contract.benchmark.document["target"]))
    if sealed != contract.target:
        raise ApplicationError(
            f"The sealed benchmark has a target of {agreed(sealed)}, the contract has "
            f"{agreed(contract.target)}. Use the same target.",
            code="contract.other_target",
        )
    _require_days_within_reach(draft)


def logged_terms(contract: ContractVersion) -> dict[str, str]:
    """The stored terms as the event log keeps them."""
    draft, logged = stored(contract), {}
    for each in FIELDS:
        if each.seal is not None:
            value = each.seal(contract)
            value = value[each.logged] if each.logged and value is not None else value
            logged[each.name] = "" if value is None else str(value)
    return logged | {
        "milestones": "; ".join(
            f"{row.title}: {money.plain(row.amount, contract.currency)} ({row.condition})"
            for row in draft.milestones
        ),
        "pauses": "; ".join(str(pause) for pause in draft.pauses),
        "clauses": "; ".join(f"{row.slug} {row.number}" for row in draft.clauses),
    }


def _require_days_within_reach(draft: ContractDraft) -> None:
    named = [draft.contract.starts_on, *(pause.ends_on for pause in draft.pauses)]
    named += [row.due_on for row in draft.milestones if row.due_on is not None]
    furthest = max(named)
    if furthest > timezone.localdate() + FURTHEST:
        raise ApplicationError(
            f"{in_words(furthest)} is more than three years away; check the year.",
            code="contract.day_too_far",
        )


def _amounts(contract: ContractVersion, drafts: Sequence[MilestoneDraft]) -> list[Decimal]:
    """Every milestone's net amount; shares divide the fee less all amounts."""
    currency = contract.currency
    fixed: dict[int, Decimal] = {}
    shares: dict[int, Decimal] = {}
    for index, part in enumerate(drafts):
        if (part.amount is None) is (part.share is None):
            raise ApplicationError(
                f"“{part.title}”: enter either an amount or a share of the fee.",
                code="milestone.amount_or_share",
            )
        if part.amount is not None:
            fixed[index] = validation.amount(part.amount, currency, noun=f"“{part.title}”")
        elif part.share is not None:
            if not part.share.is_finite() or part.share <= 0:
                raise ApplicationError(
                    f"“{part.title}”: enter a share above 0.", code="milestone.not_positive"
                )
            shares[index] = part.share
    if shares:
        whole = sum(shares.values(), Decimal(0))
        if abs(whole - 100) > SHARE_TOLERANCE:
            raise ApplicationError(
                f"The shares add up to {whole.normalize():f}% instead of 100%.",
                code="milestone.shares_not_100",
            )
        rest = contract.fee - contract.previously_released - sum(fixed.values(), Decimal(0))
        if rest <= 0:
            raise ApplicationError(
                "The amounts use up the fee: nothing remains for the shares.",
                code="milestone.nothing_to_share",
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
