"""The draft of a contract as a form: read from a row or from what was typed, rows added, summed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.forms import BaseFormSet
from django.http import QueryDict
from django.utils import timezone

from engagements.audit.models import Audit
from engagements.common.amount_fields import AmountError, Share, parse_amount, parse_share
from engagements.common.integers import whole
from engagements.common.money import quantize
from engagements.contracts.clauses import services as clauses
from engagements.contracts.clauses.models import Clause
from engagements.contracts.drafting import SHARES_MAY_MISS, MilestoneDraft
from engagements.contracts.forms import MOST_MILESTONES, MilestoneForm, MilestoneFormSet, TermsForm
from engagements.contracts.milestones.models import ReleaseCondition
from engagements.contracts.models import ContractVersion
from engagements.people.models import Customer

PREFIX = "milestones"
WHOLE = Decimal(100)
# How long an offer stands unless another day is chosen.
OFFER_DAYS = 30
MILESTONE_FIELDS = ("title", "amount", "condition", "due_on")
FIRST_MILESTONES = (
    ("Contract signed", ReleaseCondition.SIGNED),
    ("Audit delivered", ReleaseCondition.AUDIT_DELIVERED),
    ("Target met on the agreed benchmark", ReleaseCondition.TARGET_MET),
    ("Handover accepted", ReleaseCondition.HANDOVER),
)


FIGURES = (
    "benchmark",
    "fee",
    "audit_cost",
    "tax_rate_percent",
    "tax_treatment",
    "tax_note",
    "payment_days",
    "dispute_days",
    "refund_days",
    "weeks",
    "starts_on",
    "valid_until",
    "signatory",
    "inconclusive",
)


@dataclass(frozen=True)
class Setting:
    """What a draft is written for: in which money, for whom, under which texts."""

    currency: str
    customer: Customer
    texts: list[Clause]


def setting_of(audit: Audit, opened: ContractVersion | None = None) -> Setting:
    """The setting of the contract that follows `audit`; an open draft keeps its older texts."""
    texts = clauses.newest()
    if opened is not None:
        kept = [row.clause for row in opened.clauses.select_related("clause")]
        texts += [clause for clause in kept if clause not in texts]
    return Setting(audit.currency, audit.engagement.customer, texts)


@dataclass
class Draft:
    """The terms and their milestones, as forms, with the sum of what is typed so far."""

    terms: TermsForm
    milestones: BaseFormSet[MilestoneForm]
    setting: Setting
    total: Decimal
    fee: Decimal | None

    @property
    def currency(self) -> str:
        """What the amounts are in."""
        return self.setting.currency

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
        chosen = set(self.terms.cleaned_data["governed_by"])
        return {
            **self.terms.cleaned_data,
            "governed_by": [clause for clause in self.setting.texts if clause in chosen],
            "currency": self.currency,
            "target": Decimal(str(document["target"])),
            "milestones": drafts,
        }


def blank(audit: Audit) -> Draft:
    """The first draft: the audit's price and the usual four milestones."""
    setting, today = setting_of(audit), timezone.localdate()
    initial = {
        "audit_cost": audit.cost,
        "tax_rate_percent": Decimal(0),
        "tax_treatment": ContractVersion.TaxTreatment.RATE,
        "payment_days": ContractVersion._meta.get_field("payment_days").default,
        "dispute_days": ContractVersion._meta.get_field("dispute_days").default,
        "refund_days": ContractVersion._meta.get_field("refund_days").default,
        "weeks": 6,
        "starts_on": today + timedelta(days=7),
        "valid_until": today + timedelta(days=OFFER_DAYS),
        "inconclusive": ContractVersion.Inconclusive.MISSED,
        "governed_by": setting.texts,
    }
    rows = [{"title": title, "condition": str(when)} for title, when in FIRST_MILESTONES]
    return _unbound(initial, rows, setting)


def stored(contract: ContractVersion, audit: Audit) -> Draft:
    """A draft as it is stored, to be revised; or what a version said that was offered before, to
    be drafted anew with the newest number of its texts."""
    initial = {name: getattr(contract, name) for name in FIGURES}
    is_draft = contract.state == ContractVersion.State.DRAFT
    setting = setting_of(audit, contract if is_draft else None)
    kept = [row.clause for row in contract.clauses.select_related("clause")]
    slugs = {clause.slug for clause in kept}
    initial["governed_by"] = (
        kept if is_draft else [clause for clause in setting.texts if clause.slug in slugs]
    )
    rows = [
        {name: getattr(row, name) for name in MILESTONE_FIELDS}
        | ({"amount": Share(row.share)} if row.share is not None else {})
        for row in contract.milestones.all()
    ]
    return _unbound(initial, rows, setting)


def typed(data: QueryDict, setting: Setting) -> Draft:
    """What was sent, to be checked and saved."""
    fee = _amount(data.get("fee"), setting.currency)
    return Draft(
        terms=_terms(setting, data),
        milestones=MilestoneFormSet(
            data, prefix=PREFIX, form_kwargs={"currency": setting.currency}
        ),
        setting=setting,
        total=_sum(_rows(data), fee, setting.currency),
        fee=fee,
    )


def reshaped(data: QueryDict, setting: Setting, act: str) -> Draft:
    """What was typed, kept unchecked, with a milestone more ("add") or less ("remove-2")."""
    rows = _rows(data)
    if act == "add" and len(rows) < MOST_MILESTONES:
        rows.append({"condition": str(ReleaseCondition.TARGET_MET)})
    _, _, index = act.partition("remove-")
    at = whole(index)
    if at is not None and at < len(rows):
        rows.pop(at)
    initial: dict[str, Any] = {name: data.get(name, "") for name in data}
    initial["governed_by"] = data.getlist("governed_by")
    return _unbound(initial, rows, setting)


def _unbound(initial: dict[str, Any], rows: list[dict[str, Any]], setting: Setting) -> Draft:
    milestones = MilestoneFormSet(
        initial=rows,
        prefix=PREFIX,
        form_kwargs={"currency": setting.currency, "use_required_attribute": False},
    )
    # min_num would add an empty row to those that are there.
    milestones.min_num = 0
    fee = _amount(initial.get("fee"), setting.currency)
    return Draft(
        terms=_terms(setting, initial=initial),
        milestones=milestones,
        setting=setting,
        total=_sum(rows, fee, setting.currency),
        fee=fee,
    )


def _terms(setting: Setting, *args: Any, **kwargs: Any) -> TermsForm:
    return TermsForm(
        *args,
        currency=setting.currency,
        customer=setting.customer,
        offered=setting.texts,
        **kwargs,
    )


def _rows(data: QueryDict) -> list[dict[str, Any]]:
    rows = min(whole(data.get(f"{PREFIX}-TOTAL_FORMS", "")) or 0, MOST_MILESTONES)
    return [
        {name: data.get(f"{PREFIX}-{row}-{name}", "") for name in MILESTONE_FIELDS}
        for row in range(rows)
    ]


def _sum(rows: list[dict[str, Any]], fee: Decimal | None, currency: str) -> Decimal:
    """What the milestones come to: shares divide what the amounts leave of the fee."""
    parts = [row.get("amount") for row in rows]
    amounts = (_amount(part, currency) for part in parts)
    total = sum((amount for amount in amounts if amount is not None), Decimal(0))
    percent = sum((_percent(part) for part in parts), Decimal(0))
    if fee is None or fee <= total:
        return total
    # Shares that come to the whole rest divide it to the last minor unit; others do not add up.
    if abs(percent - WHOLE) <= SHARES_MAY_MISS:
        return fee
    return total + quantize((fee - total) * percent / WHOLE, currency)


def _percent(part: object) -> Decimal:
    """How much of the rest a part is, in percent; 0 for an amount, and while it cannot be read."""
    if isinstance(part, Share):
        return part.percent
    try:
        share = parse_share(str(part or ""))
    except AmountError:
        return Decimal(0)
    return share.percent if share is not None else Decimal(0)


def _amount(value: object, currency: str) -> Decimal | None:
    """An amount stored or typed; None while it cannot be read."""
    if isinstance(value, Decimal):
        return value
    try:
        return parse_amount(str(value or ""), currency=currency)
    except AmountError:
        return None
