"""The draft of a contract as forms: from a stored version or from input, with its sum."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.forms import BaseFormSet
from django.http import QueryDict

from engagements.audit.models import Audit
from engagements.common.amount_fields import AmountError, Share, parse_amount, parse_share
from engagements.common.integers import whole
from engagements.common.money import quantize
from engagements.contracts.drafting import SHARE_TOLERANCE, MilestoneDraft
from engagements.contracts.fields import FIELDS
from engagements.contracts.forms import MOST_MILESTONES, MilestoneForm, MilestoneFormSet, TermsForm
from engagements.contracts.milestones.models import ReleaseCondition
from engagements.contracts.models import ContractVersion

PREFIX = "milestones"
WHOLE = Decimal(100)
MILESTONE_FIELDS = ("title", "amount", "condition", "due_on")
FIRST_MILESTONES = (
    ("Contract signed", ReleaseCondition.SIGNED),
    ("Audit delivered", ReleaseCondition.AUDIT_DELIVERED),
    ("Target met on the agreed benchmark", ReleaseCondition.TARGET_MET),
    ("Handover accepted", ReleaseCondition.HANDOVER),
)


@dataclass
class DraftForms:
    """The terms and their milestones as forms, and the sum of the amounts entered so far."""

    terms: TermsForm
    milestones: BaseFormSet[MilestoneForm]
    audit: Audit
    total: Decimal
    fee: Decimal | None

    @property
    def missing(self) -> Decimal | None:
        """The fee less the milestones, negative when they exceed it; None without a fee."""
        return None if self.fee is None else self.fee - self.total

    @property
    def excess(self) -> Decimal:
        """The milestones less the fee."""
        return -(self.missing or Decimal(0))

    def is_valid(self) -> bool:
        """Whether the terms and every milestone are valid."""
        return bool(self.terms.is_valid() & self.milestones.is_valid())

    @property
    def values(self) -> dict[str, Any]:
        """The arguments of the services. The target is that of the benchmark."""
        document = self.terms.cleaned_data["benchmark"].document
        drafts: list[MilestoneDraft] = [form.draft for form in self.milestones]
        return {
            **self.terms.cleaned_data,
            "currency": self.audit.currency,
            "target": Decimal(str(document["target"])),
            "milestones": drafts,
        }


def blank(audit: Audit) -> DraftForms:
    """The first draft: the initial terms and the usual four milestones."""
    rows = [{"title": title, "condition": str(when)} for title, when in FIRST_MILESTONES]
    return _unbound({}, rows, audit)


def stored(contract: ContractVersion, audit: Audit) -> DraftForms:
    """The forms of a stored draft, or of a new one that repeats a sealed version."""
    initial = {each.name: getattr(contract, each.name) for each in FIELDS}
    rows = [
        {name: getattr(row, name) for name in MILESTONE_FIELDS}
        | ({"amount": Share(row.share)} if row.share is not None else {})
        for row in contract.milestones.all()
    ]
    return _unbound(initial, rows, audit)


def submitted(data: QueryDict, audit: Audit) -> DraftForms:
    """The submitted forms, to be validated."""
    fee = _amount(data.get("fee"), audit.currency)
    form_kwargs = {"currency": audit.currency}
    return DraftForms(
        terms=TermsForm(data, audit=audit),
        milestones=MilestoneFormSet(data, prefix=PREFIX, form_kwargs=form_kwargs),
        audit=audit,
        total=_sum(_rows(data), fee, audit.currency),
        fee=fee,
    )


def reshaped(data: QueryDict, audit: Audit, act: str) -> DraftForms:
    """The submitted input, not validated, after "add" or "remove-2" of a milestone."""
    rows = _rows(data)
    if act == "add" and len(rows) < MOST_MILESTONES:
        rows.append({"condition": str(ReleaseCondition.TARGET_MET)})
    _, _, index = act.partition("remove-")
    at = whole(index)
    if at is not None and at < len(rows):
        rows.pop(at)
    initial: dict[str, Any] = {name: data.get(name, "") for name in data}
    return _unbound(initial, rows, audit)


def _unbound(initial: dict[str, Any], rows: list[dict[str, Any]], audit: Audit) -> DraftForms:
    milestones = MilestoneFormSet(
        initial=rows,
        prefix=PREFIX,
        form_kwargs={"currency": audit.currency, "use_required_attribute": False},
    )
    # min_num would add an empty row to the given ones.
    milestones.min_num = 0
    fee = _amount(initial.get("fee"), audit.currency)
    return DraftForms(
        terms=TermsForm(initial=initial, audit=audit),
        milestones=milestones,
        audit=audit,
        total=_sum(rows, fee, audit.currency),
        fee=fee,
    )


def _rows(data: QueryDict) -> list[dict[str, Any]]:
    rows = min(whole(data.get(f"{PREFIX}-TOTAL_FORMS", "")) or 0, MOST_MILESTONES)
    return [
        {name: data.get(f"{PREFIX}-{row}-{name}", "") for name in MILESTONE_FIELDS}
        for row in range(rows)
    ]


def _sum(rows: list[dict[str, Any]], fee: Decimal | None, currency: str) -> Decimal:
    """The sum of the milestones; shares divide the fee less all amounts."""
    parts = [row.get("amount") for row in rows]
    amounts = (_amount(part, currency) for part in parts)
    total = sum((amount for amount in amounts if amount is not None), Decimal(0))
    percent = sum((_percent(part) for part in parts), Decimal(0))
    if fee is None or fee <= total:
        return total
    # Shares of 100% divide the rest to the last minor unit.
    if abs(percent - WHOLE) <= SHARE_TOLERANCE:
        return fee
    return total + quantize((fee - total) * percent / WHOLE, currency)


def _percent(part: object) -> Decimal:
    """The percentage of a share; 0 for an amount and for unreadable input."""
    if isinstance(part, Share):
        return part.percent
    try:
        share = parse_share(str(part or ""))
    except AmountError:
        return Decimal(0)
    return share.percent if share is not None else Decimal(0)


def _amount(value: object, currency: str) -> Decimal | None:
    """An amount, stored or entered; None for unreadable input."""
    if isinstance(value, Decimal):
        return value
    try:
        return parse_amount(str(value or ""), currency=currency)
    except AmountError:
        return None
