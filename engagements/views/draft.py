"""The draft of a contract as a form: read from a row or from what was typed, rows added, summed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.forms import BaseFormSet
from django.http import QueryDict
from django.utils import timezone

from engagements.forms.amounts import AmountError, parse_amount
from engagements.forms.contract import MOST_MILESTONES, MilestoneForm, MilestoneFormSet, TermsForm
from engagements.models import Audit, ContractVersion, ReleaseCondition
from engagements.services.contracts import MilestoneDraft

PREFIX = "milestones"
MILESTONE_FIELDS = ("title", "amount", "condition")
FIRST_MILESTONES = (
    ("Contract signed", ReleaseCondition.SIGNED),
    ("Audit delivered", ReleaseCondition.AUDIT_DELIVERED),
    ("Target met on the agreed benchmark", ReleaseCondition.TARGET_MET),
    ("Handover accepted", ReleaseCondition.HANDOVER),
)


@dataclass
class Draft:
    """The terms and their milestones, as forms, with the sum of what is typed so far."""

    terms: TermsForm
    milestones: BaseFormSet[MilestoneForm]
    currency: str
    total: Decimal
    fee: Decimal | None

    @property
    def missing(self) -> Decimal | None:
        """What the milestones still lack of the fee, negative when they exceed it."""
        return None if self.fee is None else self.fee - self.total

    @property
    def excess(self) -> Decimal:
        """What the milestones are over the fee."""
        return -(self.missing or Decimal(0))

    def is_valid(self) -> bool:
        """Whether both the terms and every milestone can be read."""
        return bool(self.terms.is_valid() & self.milestones.is_valid())

    @property
    def values(self) -> dict[str, Any]:
        """What the services take. The target is the sealed benchmark's own."""
        document = self.terms.cleaned_data["benchmark"].document
        drafts: list[MilestoneDraft] = [form.draft for form in self.milestones]
        return {
            **self.terms.cleaned_data,
            "currency": self.currency,
            "target": Decimal(str(document["target"])),
            "milestones": drafts,
        }


def blank(audit: Audit) -> Draft:
    """The first draft: the audit's price and the usual four milestones."""
    initial = {
        "audit_cost": audit.cost,
        "tax_rate_percent": Decimal(0),
        "weeks": 6,
        "starts_on": timezone.localdate() + timedelta(days=7),
        "inconclusive": ContractVersion.Inconclusive.MISSED,
    }
    rows = [{"title": title, "condition": str(when)} for title, when in FIRST_MILESTONES]
    return _unbound(initial, rows, audit.currency)


def stored(contract: ContractVersion) -> Draft:
    """A version as it is stored, to be revised or drafted anew."""
    names = ("benchmark", "fee", "audit_cost", "tax_rate_percent", "weeks", "starts_on")
    initial = {name: getattr(contract, name) for name in (*names, "inconclusive")}
    rows = [
        {name: getattr(milestone, name) for name in MILESTONE_FIELDS}
        for milestone in contract.milestones.all()
    ]
    return _unbound(initial, rows, contract.currency)


def typed(data: QueryDict, currency: str) -> Draft:
    """What was sent, to be checked and saved."""
    return Draft(
        terms=TermsForm(data, currency=currency),
        milestones=MilestoneFormSet(data, prefix=PREFIX, form_kwargs={"currency": currency}),
        currency=currency,
        total=_sum(_rows(data), currency),
        fee=_amount(data.get("fee"), currency),
    )


def reshaped(data: QueryDict, currency: str, act: str) -> Draft:
    """What was typed, kept unchecked, with a milestone more ("add") or less ("remove-2")."""
    rows = _rows(data)
    if act == "add" and len(rows) < MOST_MILESTONES:
        rows.append({"condition": str(ReleaseCondition.TARGET_MET)})
    _, _, index = act.partition("remove-")
    if index.isdigit() and int(index) < len(rows):
        rows.pop(int(index))
    return _unbound({name: data.get(name, "") for name in data}, rows, currency)


def _unbound(initial: dict[str, Any], rows: list[dict[str, Any]], currency: str) -> Draft:
    milestones = MilestoneFormSet(
        initial=rows,
        prefix=PREFIX,
        form_kwargs={"currency": currency, "use_required_attribute": False},
    )
    # min_num would add an empty row to those that are there.
    milestones.min_num = 0
    return Draft(
        terms=TermsForm(initial=initial, currency=currency),
        milestones=milestones,
        currency=currency,
        total=_sum(rows, currency),
        fee=_amount(initial.get("fee"), currency),
    )


def _rows(data: QueryDict) -> list[dict[str, Any]]:
    count = data.get(f"{PREFIX}-TOTAL_FORMS", "0")
    rows = min(int(count), MOST_MILESTONES) if count.isdigit() else 0
    return [
        {name: data.get(f"{PREFIX}-{row}-{name}", "") for name in MILESTONE_FIELDS}
        for row in range(rows)
    ]


def _sum(rows: list[dict[str, Any]], currency: str) -> Decimal:
    amounts = (_amount(row.get("amount"), currency) for row in rows)
    return sum((amount for amount in amounts if amount is not None), Decimal(0))


def _amount(value: object, currency: str) -> Decimal | None:
    """An amount stored or typed; None while it cannot be read."""
    if isinstance(value, Decimal):
        return value
    try:
        return parse_amount(str(value or ""), currency=currency)
    except AmountError:
        return None
