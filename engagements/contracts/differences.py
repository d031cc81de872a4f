"""What differs between two versions of the terms, in words that a reader can check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from engagements.common.dates import in_words
from engagements.common.money import format_money
from engagements.common.wordings import Difference
from engagements.contracts.models import ContractVersion

Terms = Mapping[str, Any]


def differences(before: Terms, after: Terms) -> list[Difference]:
    """Everything that `after` says otherwise than `before`, in the order of the document.

    A milestone that was released in between, for the same amount, is no difference.
    """
    old, new = dict(_said(before)), dict(_said(after))
    for label, amount in _released(after):
        if old.get(label, "").startswith(amount):
            new[label] = old[label]
    labels = [*new, *(label for label in old if label not in new)]
    return [
        Difference(label, old.get(label, ""), new.get(label, ""))
        for label in labels
        if old.get(label, "") != new.get(label, "")
    ]


def _said(terms: Terms) -> Iterator[tuple[str, str]]:
    """The terms as (label, words). What identifies the version itself is left out."""
    yield "What the work is", f"{terms['engagement']['title']}\n{terms['scope']}"
    for side, party in terms["parties"].items():
        where = [party["name"], party["address"], party["country"], party["vat_id"]]
        yield f"The {side}", "\n".join(part for part in where if part)
    for side, people in terms["signatories"].items():
        yield f"Signs for the {side}", ", ".join(person["name"] for person in people)
    if terms["signatory"]:
        yield "Alone signs for the customer", terms["signatory"]["name"]
    yield "Open for acceptance until", _day(terms["valid_until"])
    yield from _money(terms)
    yield "Target", f"{terms['target']} times, end to end"
    yield "Time-box", f"{terms['weeks']} weeks from {_day(terms['starts_on'])}"
    for pause in terms["pauses"]:
        days = f"from {_day(pause['starts_on'])} until {_day(pause['ends_on'])}"
        yield f"Pause {days}", f"waiting for {pause['waits_for']}: {pause['reason']}"
    yield "Dispute window", f"{terms['dispute_days']} days"
    if terms["refund_days"]:
        yield "A refund is paid within", f"{terms['refund_days']} days"
    yield from _benchmark(terms["benchmark"])
    yield "If a run is inconclusive", terms["inconclusive"]["meaning"]
    yield "The promise", terms["promise"]
    for clause in terms["clauses"]:
        yield f"Text: {clause['title']}", clause["text"]


def _money(terms: Terms) -> Iterator[tuple[str, str]]:
    currency = terms["currency"]
    yield "Fee, net", _amount(terms["fee"], currency)
    yield "Audit cost, net", _amount(terms["audit_cost"], currency)
    treatment = ContractVersion.TaxTreatment(terms["tax"]["treatment"])
    rate = f"{Decimal(terms['tax_rate_percent']).normalize():f}%"
    is_rate = treatment == ContractVersion.TaxTreatment.RATE
    yield "Tax", rate if is_rate else f"{treatment.label}. {terms['tax']['note']}"
    yield "Invoices are payable within", f"{terms['payment_days']} days"
    yield from _released(terms)
    for part in terms["milestones"]:
        amount = _amount(part["amount"], currency)
        yield f"Milestone “{part['title']}”", f"{amount} when {part['released_when']}"


def _released(terms: Terms) -> Iterator[tuple[str, str]]:
    for part in terms["released_before"]:
        yield f"Milestone “{part['title']}”", _amount(part["amount"], terms["currency"])


def _benchmark(sealed: Terms) -> Iterator[tuple[str, str]]:
    yield "Benchmark", f"{sealed['name']}\n{sealed['digest']}"
    yield "Operator and step", f"{sealed['operator']}, {sealed['program']}, {sealed['launch']}"
    yield "Baseline", sealed["baseline"]
    hardware = sealed["hardware"]
    yield "Hardware", f"{hardware['device']} {hardware['name']}".strip()
    yield "Confidence", f"{sealed['confidence']:.1%}"


def _amount(text: str, currency: str) -> str:
    return format_money(Decimal(text), currency)


def _day(text: str | None) -> str:
    if text is None:
        return ""
    return in_words(date.fromisoformat(text))
